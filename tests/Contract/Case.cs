namespace Freehold.Contract;

/// <summary>A case of the catalogue: its name on the command line, and what it does with the arguments after the name.</summary>
internal sealed record Case(string Name, Action<string[]> Run);
