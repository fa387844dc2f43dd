namespace Freehold.Diagnostics;

internal static class Expect
{
    public static void True(bool condition, string what)
    {
        if (!condition)
            throw new InvalidOperationException("expected: " + what);
    }

    /// <summary>Until the condition holds: a machine may be busy for long.</summary>
    public static void Eventually(Func<bool> condition, Func<string> what)
    {
        for (int i = 0; !condition(); i++)
        {
            True(i < 12_000, what());
            Thread.Sleep(10);
        }
    }
}
