namespace Freehold.Tool;

/// <summary>What scripts see.</summary>
internal static class ExitCode
{
    public const int Good = 0;

    /// <summary>The heap is damaged, or the machine lacks something.</summary>
    public const int Found = 1;

    public const int WrongUsage = 2;

    /// <summary>The process could not be asked.</summary>
    public const int NoAnswer = 3;
}
