namespace Freehold.Integration.Tests;

/// <summary>The settings under which everything runs again.</summary>
public static class Settings
{
    public static IReadOnlyDictionary<string, string> None { get; } = new Dictionary<string, string>();

    public static IReadOnlyDictionary<string, string> Verify { get; } = new Dictionary<string, string> { ["FREEHOLD_VERIFY"] = "1" };

    public static IReadOnlyDictionary<string, string> Mprotect { get; } = new Dictionary<string, string> { ["FREEHOLD_PROTECTION"] = "mprotect" };

    public static IReadOnlyDictionary<string, string> Stacks { get; } = new Dictionary<string, string> { ["FREEHOLD_DEBUG"] = "stacks" };

    public static IReadOnlyDictionary<string, string> DebugMprotect { get; } = new Dictionary<string, string> { ["FREEHOLD_DEBUG"] = "1", ["FREEHOLD_PROTECTION"] = "mprotect" };

    public static IReadOnlyDictionary<string, string> Debug { get; } = new Dictionary<string, string> { ["FREEHOLD_DEBUG"] = "1" };
}
