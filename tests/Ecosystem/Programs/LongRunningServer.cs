using System.Diagnostics;

namespace Freehold.Differential.Programs;

/// <summary>A server that never ends has to delete what ASP.NET Core allocates inside, which nobody can name: its memory must not grow with the requests.</summary>
internal static class LongRunningServer
{
    private const int Rounds = 12, Settled = 3, Requests = 400;

    // The framework's pools may take some MB more, as the requests happen to meet; what the requests leave is 25 MB.
    private const long Growth = 8 << 20;

    public static void Run() => RunAsync().GetAwaiter().GetResult();

    private static async Task RunAsync()
    {
        WebApplicationBuilder builder = WebHost.CreateBuilder();
        await using WebApplication application = builder.Build();
        application.MapGet("/greet/{name}", (string name) => "Hello " + name);
        await application.StartAsync();
        HttpClient[] clients = WebHost.CreateClients(application);
        long settled = 0, last = 0, deleted = 0;
        for (int round = 0; round < Rounds; round++)
        {
            await Task.WhenAll(clients.Select((client, i) => Task.Run(() => AskAsync(client, i, round))));
            deleted += Heap.Reclaim();
            last = GC.GetTotalMemory(forceFullCollection: true);
            if (round == Settled)
                settled = last;
        }
        Console.WriteLine($"{Rounds * Requests * clients.Length} requests; grown: {last - settled > Growth}");
        // At least ten objects a request; with a collector, none.
        Console.WriteLine(!Heap.IsManual || deleted > 10L * Rounds * Requests || IsStressed ? "deleted" : $"only {deleted} objects deleted");
        foreach (HttpClient client in clients)
            client.Dispose();
        await application.StopAsync();
    }

    // FREEHOLD_STRESS=reclaim has deleted them before.
    private static bool IsStressed => Environment.GetEnvironmentVariable("FREEHOLD_STRESS")?.Contains("reclaim", StringComparison.Ordinal) == true;

    private static async Task AskAsync(HttpClient client, int number, int round)
    {
        for (int i = 0; i < Requests; i++)
        {
            string name = $"{number}.{round}.{i}";
            string answer = await client.GetStringAsync("/greet/" + name);
            if (answer != "Hello " + name)
                throw new UnreachableException($"asked for {name}, got {answer}");
        }
    }
}
