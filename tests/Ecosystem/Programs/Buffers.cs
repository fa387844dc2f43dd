using System.Buffers;
using CommunityToolkit.HighPerformance;
using CommunityToolkit.HighPerformance.Buffers;

namespace Freehold.Differential.Programs;

/// <summary>CommunityToolkit.HighPerformance: references into arrays and boxes, two-dimensional spans, pooled strings.</summary>
internal static class Buffers
{
    public static void Run()
    {
        for (int i = 0; i < 10; i++)
            RunOnce();
    }

    private static void RunOnce()
    {
        // One thread, so that what the pool evicts is the same; but its hashes are random, so only what is equal counts.
        var pool = new StringPool(256);
        int equal = 0;
        for (int i = 0; i < 20_000; i++)
            equal += pool.GetOrAdd("key " + (i % 400)) == "key " + (i % 400) ? 1 : 0;
        Console.WriteLine(equal);

        int[,] table = new int[200, 300];
        Span2D<int> span = table;
        for (int i = 0; i < span.Height; i++)
        {
            for (int j = 0; j < span.Width; j++)
                span[i, j] = i * j;
        }

        long sum = 0;
        foreach (ref int value in span.Slice(10, 10, 100, 100))
            sum += ++value;
        Console.WriteLine($"{sum} {table[20, 20]} {span.GetRow(7).ToArray().Sum()} {table.GetColumn(9).ToArray().Sum()}");

        for (int round = 0; round < 50; round++)
        {
            using MemoryOwner<byte> owner = MemoryOwner<byte>.Allocate(100_000);
            for (int i = 0; i < owner.Length; i++)
                owner.Span[i] = (byte)(i + round);
            sum += owner.Memory.Cast<byte, int>().Span[1000];
        }

        using var writer = new ArrayPoolBufferWriter<char>();
        for (int i = 0; i < 10_000; i++)
            writer.Write(i.ToString());
        Console.WriteLine($"{sum} {writer.WrittenCount} {writer.WrittenSpan.GetDjb2HashCode()}");

        Box<long> box = 5L;
        ref long content = ref box.GetReference();
        for (int i = 0; i < 100_000; i++)
            content += new string('x', i % 10).Length;
        Console.WriteLine((long)box);
    }
}
