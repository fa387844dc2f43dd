namespace Freehold.Package.Tests;

/// <summary>How a command ended, and what it said on both streams.</summary>
public sealed record CommandResult(int ExitCode, string Output);
