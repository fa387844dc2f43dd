using System.Diagnostics;

namespace Freehold.Benchmarks;

/// <summary>How far a measured program is, each second, where somebody looks at it. Under benchmarks/Compare it is silent.</summary>
internal sealed class Progress(string what, long all)
{
    private long _next = Console.IsErrorRedirected ? long.MaxValue : Stopwatch.GetTimestamp() + Stopwatch.Frequency;

    /// <summary>Called now and then, by one thread.</summary>
    public void Tell(long done)
    {
        var now = Stopwatch.GetTimestamp();
        if (now >= _next)
        {
            _next = now + Stopwatch.Frequency;
            Console.Error.Write($"\r{what}: {done:N0} of {all:N0} ");
        }
    }

    /// <summary>Ends the line.</summary>
    public void End()
    {
        if (_next != long.MaxValue)
        {
            Console.Error.Write("\r\e[K");
        }
    }
}
