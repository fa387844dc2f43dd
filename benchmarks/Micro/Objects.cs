using BenchmarkDotNet.Attributes;

namespace Freehold.Benchmarks;

/// <summary>Making objects and ending them: deleted on Freehold, dropped for a collector.</summary>
public class Objects
{
    private const int Count = 1024;

    private sealed class Item
    {
        public long First = 1, Second = 2, Third = 3;
    }

    private readonly object[] _made = new object[Count];

    [Benchmark(OperationsPerInvoke = Count)]
    public long AllocateAndEnd()
    {
        var made = _made;
        for (var i = 0; i < made.Length; i++)
        {
            made[i] = new Item();
        }

        return End();
    }

    [Benchmark(OperationsPerInvoke = Count)]
    public long AllocateArrayAndEnd()
    {
        var made = _made;
        for (var i = 0; i < made.Length; i++)
        {
            made[i] = new byte[64];
        }

        return End();
    }

    [Benchmark(OperationsPerInvoke = Count)]
    public long AllocateStringAndEnd()
    {
        var made = _made;
        for (var i = 0; i < made.Length; i++)
        {
            made[i] = new string('x', 16);
        }

        return End();
    }

    private long End()
    {
        var made = _made;
        if (!Heap.IsManual)
        {
            Array.Clear(made);
            return 0;
        }

        for (var i = 0; i < made.Length; i++)
        {
            Heap.Delete(made[i]);
        }

        return 0;
    }
}
