namespace Freehold.Compare;

/// <summary>Progress and failures, on standard error.</summary>
internal static class Log
{
    private static bool s_open;

    /// <summary>Whether anything failed.</summary>
    public static bool HasFailures { get; private set; }

    public static void Line(string text) => Write(text, stay: true);

    /// <summary>A line that the next one replaces when standard error is a terminal.</summary>
    public static void Progress(string text) => Write(text, stay: Console.IsErrorRedirected);

    public static void Failure(string text)
    {
        HasFailures = true;
        Line("FAILED: " + text);
    }

    private static void Write(string text, bool stay)
    {
        Console.Error.Write((s_open ? "\r\e[K" : "") + text + (stay ? "\n" : ""));
        s_open = !stay;
    }
}
