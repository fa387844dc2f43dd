namespace Freehold.Differential;

/// <summary>A program of the catalogue: its name on the command line, and what it does.</summary>
internal sealed record Entry(string Name, Action Run);
