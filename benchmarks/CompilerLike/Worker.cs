using System.Diagnostics;

namespace Freehold.Benchmarks.CompilerLike;

/// <summary>One thread's compilations.</summary>
internal sealed class Worker(string[] texts, int compilations)
{
    public long Tokens { get; private set; }

    public long Skipped { get; private set; }

    public long Found { get; private set; }

    public ulong Checksum { get; private set; }

    /// <summary>How long each compilation took.</summary>
    public double[] Microseconds { get; } = new double[compilations];

    public void Run(Progress? progress)
    {
        for (var i = 0; i < compilations; i++)
        {
            var start = Stopwatch.GetTimestamp();
            Compilation.Result result;
            using (Heap.Scope())
            {
                result = Compilation.Run(texts);
            }

            Microseconds[i] = Stopwatch.GetElapsedTime(start).TotalMicroseconds;
            Tokens += result.Tokens;
            Skipped += result.Skipped;
            Found += result.Found;
            foreach (var b in result.Image)
            {
                Checksum = (Checksum * 31) + b;
            }

            if (Heap.IsManual)
            {
                Heap.Delete(result.Image);
                Heap.Delete(result);
            }

            progress?.Tell(i);
        }
    }
}
