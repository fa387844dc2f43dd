using System.Threading.Channels;

namespace Freehold.Differential.Programs;

/// <summary>Bounded and unbounded channels as a pipeline.</summary>
internal static partial class ChannelPipelines
{
    public static void Run() => RunAsync().GetAwaiter().GetResult();

    private static async Task RunAsync()
    {
        Channel<int> numbers = Channel.CreateBounded<int>(new BoundedChannelOptions(32) { SingleWriter = true });
        Channel<string> texts = Channel.CreateUnbounded<string>();
        Task producer = Task.Run(async () =>
        {
            for (int i = 0; i < 20_000; i++)
                await numbers.Writer.WriteAsync(i);
            numbers.Writer.Complete();
        });
        Task[] workers = [.. Enumerable.Range(0, 4).Select(_ => Task.Run(async () =>
        {
            await foreach (int number in numbers.Reader.ReadAllAsync())
            {
                if (number % 2 == 0)
                    await texts.Writer.WriteAsync("n" + number);
            }
        }))];
        Task closer = Task.WhenAll(workers).ContinueWith(_ => texts.Writer.Complete(new InvalidDataException("closed on purpose")), TaskScheduler.Default);
        var received = new List<string>();
        try
        {
            while (true)
                received.Add(await texts.Reader.ReadAsync());
        }
        catch (ChannelClosedException exception)
        {
            Console.WriteLine(exception.InnerException!.Message);
        }
        await Task.WhenAll(producer, closer);
        var sum = new Checksum();
        foreach (string text in received.Order(StringComparer.Ordinal))
            sum.Add(text);
        Console.WriteLine($"{received.Count} {sum}");
        Channel<int> latest = Channel.CreateBounded<int>(new BoundedChannelOptions(3) { FullMode = BoundedChannelFullMode.DropOldest });
        for (int i = 0; i < 10; i++)
            latest.Writer.TryWrite(i);
        latest.Writer.Complete();
        await foreach (int value in latest.Reader.ReadAllAsync())
            Console.Write(value + " ");
        Console.WriteLine();
        Channel<int> ordered = Channel.CreateUnboundedPrioritized<int>();
        foreach (int value in new[] { 5, 1, 4, 2, 3 })
            ordered.Writer.TryWrite(value);
        while (ordered.Reader.TryRead(out int value))
            Console.Write(value + " ");
        Console.WriteLine();
    }
}
