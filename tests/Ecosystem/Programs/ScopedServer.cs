using System.Diagnostics;

namespace Freehold.Differential.Programs;

/// <summary>A server whose requests run in scopes: those that answer at once leave less than without, and what they keep stays whole.</summary>
internal static class ScopedServer
{
    private const int Requests = 300;
    private static readonly Dictionary<string, string> s_seen = [];

    public static void Run() => RunAsync().GetAwaiter().GetResult();

    private static async Task RunAsync()
    {
        WebApplicationBuilder builder = WebHost.CreateBuilder();
        await using WebApplication application = builder.Build();
        application.UseHeapScopes();
        application.MapGet("/at-once/{name}", (string name) => Answer(name));
        application.MapGet("/later/{name}", async (string name) =>
        {
            string answer = Answer(name);
            await Task.Delay(1);
            return answer + " later";
        });
        application.MapGet("/wrong/{name}", string (string name) => throw new InvalidOperationException(name));
        await application.StartAsync();
        HttpClient[] clients = WebHost.CreateClients(application);
        await Task.WhenAll(clients.Select((client, number) => Task.Run(() => AskAsync(client, number))));
        var checksum = new Checksum();
        lock (s_seen)
        {
            foreach ((string name, string word) in s_seen.OrderBy(pair => pair.Key, StringComparer.Ordinal))
            {
                checksum.Add(name);
                checksum.Add(word);
            }
        }

        Console.WriteLine($"{s_seen.Count} names: {checksum}");

        HeapStatistics statistics = Heap.GetStatistics();
        Console.WriteLine(!Heap.IsManual || (statistics.Scopes + statistics.ScopesKept > Requests && statistics.Scopes > 20 && statistics.ScopeObjects > 20 * statistics.Scopes) ? "deleted" : $"{statistics.Scopes} scopes, {statistics.ScopeObjects} objects");
        foreach (HttpClient client in clients)
            client.Dispose();
        await application.StopAsync();
    }

    private static string Answer(string name)
    {
        string[] words = [.. Enumerable.Range(0, 20).Select(i => $"{name}:{i}")];
        lock (s_seen)
        {
            s_seen[name] = words[7];
        }

        return string.Join(' ', words.Where((_, i) => i % 2 == 0));
    }

    private static async Task AskAsync(HttpClient client, int number)
    {
        for (int i = 0; i < Requests; i++)
        {
            string name = $"{number}.{i}";
            string expected = string.Join(' ', Enumerable.Range(0, 10).Select(word => $"{name}:{2 * word}"));
            if (await client.GetStringAsync("/at-once/" + name) != expected)
                throw new UnreachableException("another answer to " + name);
            if (i % 10 == 0 && await client.GetStringAsync("/later/" + name) != expected + " later")
                throw new UnreachableException("another later answer to " + name);
            if (i % 50 == 0 && (await client.GetAsync("/wrong/" + name)).StatusCode != System.Net.HttpStatusCode.InternalServerError)
                throw new UnreachableException("no error");
        }
    }
}
