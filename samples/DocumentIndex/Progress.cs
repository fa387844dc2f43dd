using System.Diagnostics;

namespace DocumentIndex;

/// <summary>One line on standard error that says how far the work is, at most twice a second.</summary>
internal sealed class Progress(bool quiet)
{
    private readonly bool _quiet = quiet || Console.IsErrorRedirected;
    private readonly Output _output = new(Console.OpenStandardError());
    private long _last;

    public void Report(ReadOnlySpan<byte> what, long done, long total)
    {
        var now = Stopwatch.GetTimestamp();
        if (_quiet || (done < total && now - _last < Stopwatch.Frequency / 2))
        {
            return;
        }

        _last = now;
        _output.Text("\r\e[K"u8).Text(what).Text(" "u8).Number(done).Text(" of "u8).Number(total);
        if (done >= total)
        {
            _output.EndLine();
        }

        _output.Flush();
    }
}
