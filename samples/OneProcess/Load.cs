using System.Diagnostics;
using System.Globalization;

/// <summary>The load, in a process of its own: seasons in which one part of the shop grows, until the program's heaps together are near their limit, and shrinks again.</summary>
internal static class Load
{
    private const int Batch = 400, Clients = 4;
    private static readonly string[] s_parts = ["sessions", "pages", "searches"];

    /// <summary>Starts it; the first number of its output is that of its requests.</summary>
    public static Process Start(int port, int rounds, int megabytes)
    {
        var start = new ProcessStartInfo(Environment.ProcessPath!, ["load", Text(port), Text(rounds), Text(megabytes)]) { RedirectStandardOutput = true };
        // The limit is the server's.
        start.Environment.Remove("FREEHOLD_MEMORY_LIMIT");
        return Process.Start(start)!;
    }

    /// <summary>The load itself.</summary>
    public static async Task<int> Run(int port, int rounds, int megabytes)
    {
        using var client = new HttpClient { BaseAddress = new Uri($"http://127.0.0.1:{port}"), Timeout = Timeout.InfiniteTimeSpan };
        long requests = 0;
        for (int season = 0; season < rounds * s_parts.Length; season++)
        {
            string part = s_parts[season % s_parts.Length];
            int first = season * 10_000_000;
            // Bytes that one of them takes.
            int each = part switch { "sessions" => 3 * 450, "pages" => 850 + season % 5 * 500, _ => 700 };
            int count = (int)((long)megabytes * 1_000_000 / each / Batch) * Batch;
            await client.GetStringAsync(new Uri($"/season/{part}/{season}", UriKind.Relative));
            for (int visit = 0; visit < (part == "sessions" ? 3 : 1); visit++) requests += await Ask(client, part, first, count, 1, season);
            // Some are asked for again: they stay.
            if (part != "sessions") requests += await Ask(client, part, first, count, Shop.KeptOf, season);
            requests++;
            using HttpResponseMessage answer = await client.DeleteAsync(new Uri(part == "pages" ? $"/pages/{count / Shop.KeptOf * each}" : "/" + part, UriKind.Relative));
            answer.EnsureSuccessStatusCode();
        }

        Console.WriteLine($"{requests} requests");
        return 0;
    }

    // All, or every n-th; several clients at once.
    private static async Task<long> Ask(HttpClient client, string part, int first, int count, int every, int season)
    {
        int next = 0;
        long requests = 0;
        await Task.WhenAll(Enumerable.Range(0, Clients).Select(async _ =>
        {
            while (true)
            {
                int begin = Interlocked.Add(ref next, Batch) - Batch;
                if (begin >= count) return;
                for (int i = begin; i < begin + Batch; i += every == 1 ? Batch : every)
                {
                    int size = every == 1 ? Batch : 1;
                    string answer = await client.GetStringAsync(new Uri($"/{part}/{first + i}/{size}/{season}", UriKind.Relative));
                    ulong expected = Shop.SumOf(part, first + i, size, season);
                    if (answer != Text(expected)) throw new InvalidDataException($"/{part}/{first + i}/{size}/{season} gave {answer}, not {expected}");
                    Interlocked.Increment(ref requests);
                }
            }
        }));
        return requests;
    }

    private static string Text(IFormattable number) => number.ToString(null, CultureInfo.InvariantCulture);
}
