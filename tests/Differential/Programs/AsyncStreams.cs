using System.Runtime.CompilerServices;

namespace Freehold.Differential.Programs;

/// <summary>Asynchronous iterators, their disposal and cancellation.</summary>
internal static partial class AsyncStreams
{
    private static async IAsyncEnumerable<string> ProduceAsync(int count, [EnumeratorCancellation] CancellationToken cancellation = default)
    {
        try
        {
            for (int i = 0; i < count; i++)
            {
                if (i % 16 == 0)
                    await Task.Yield();
                cancellation.ThrowIfCancellationRequested();
                yield return "item " + i;
            }
        }
        finally
        {
            await Task.Yield();
            Console.WriteLine("producer of " + count + " closed");
        }
    }

    private static async IAsyncEnumerable<int> LengthsAsync(IAsyncEnumerable<string> source)
    {
        await foreach (string item in source)
            yield return item.Length;
    }

    public static void Run() => RunAsync().GetAwaiter().GetResult();

    private static async Task RunAsync()
    {
        long total = 0;
        await foreach (int length in LengthsAsync(ProduceAsync(20_000)))
            total += length;
        Console.WriteLine(total);
        var sum = new Checksum();
        await foreach (string item in ProduceAsync(1_000))
        {
            sum.Add(item);
            if (item == "item 321")
                break;
        }
        Console.WriteLine(sum);
        using var cancellation = new CancellationTokenSource();
        try
        {
            await foreach (string item in ProduceAsync(100).WithCancellation(cancellation.Token))
            {
                if (item == "item 40")
                    cancellation.Cancel();
            }
        }
        catch (OperationCanceledException)
        {
            Console.WriteLine("cancelled");
        }
        await using (new Closer("outer"))
        await using (new Closer("inner"))
            Console.WriteLine("body");
    }

    private sealed class Closer(string name) : IAsyncDisposable
    {
        public async ValueTask DisposeAsync()
        {
            await Task.Delay(1);
            Console.WriteLine("closed " + name);
        }
    }
}
