using System.Collections.Concurrent;
using System.Net;
using System.Text;
using System.Text.Json.Serialization;

namespace Freehold.Differential.Programs;

/// <summary>ASP.NET Core: minimal APIs with JSON, injected services, compression and errors, asked by eight clients at once.</summary>
internal static partial class WebServer
{
    private const int Clients = 8, Rounds = 150;

    public static void Run() => RunAsync().GetAwaiter().GetResult();

    private static async Task RunAsync()
    {
        WebApplicationBuilder builder = WebHost.CreateBuilder();
        builder.Services.ConfigureHttpJsonOptions(options => options.SerializerOptions.TypeInfoResolverChain.Insert(0, TaskJson.Default));
        builder.Services.AddSingleton<Store>();
        builder.Services.AddScoped<Visit>();
        builder.Services.AddResponseCompression();
        await using WebApplication application = builder.Build();
        application.UseResponseCompression();
        application.MapGet("/tasks", (Store store) => store.Tasks.Values.OrderBy(item => item.Id).ToArray());
        application.MapGet("/tasks/{id:int}", (int id, Store store) => store.Tasks.TryGetValue(id, out TaskItem? item) ? Results.Ok(item) : Results.NotFound());
        application.MapPost("/tasks", (TaskItem item, Store store, Visit visit) =>
        {
            visit.Count();
            store.Tasks[item.Id] = item;
            return Results.Created("/tasks/" + item.Id, item);
        });
        application.MapDelete("/tasks/{id:int}", (int id, Store store) => store.Tasks.TryRemove(id, out _) ? Results.NoContent() : Results.NotFound());
        application.MapPost("/echo", (HttpRequest request, HttpResponse response) => request.Body.CopyToAsync(response.Body));
        application.MapGet("/throw", () => { throw new InvalidOperationException("on purpose"); });
        application.MapGet("/slow", async (CancellationToken cancellation) =>
        {
            await Task.Delay(2, cancellation);
            return "slow";
        });
        await application.StartAsync();
        HttpClient[] clients = WebHost.CreateClients(application);
        long[] characters = await Task.WhenAll(Enumerable.Range(0, Clients).Select(i => Task.Run(() => AskAsync(clients[i % clients.Length], i * 100_000))));
        Console.WriteLine($"{characters.Sum()} {(await clients[1].GetStringAsync("/tasks")).Length} {application.Services.GetRequiredService<Store>().Tasks.Count}");
        foreach (HttpClient client in clients)
            client.Dispose();
        await application.StopAsync();
    }

    private static async Task<long> AskAsync(HttpClient client, int first)
    {
        long characters = 0;
        for (int i = 0; i < Rounds; i++)
        {
            int id = first + i;
            string body = $$"""{"id":{{id}},"title":"task {{id}}","tags":["a","b{{i}}"]}""";
            using (HttpResponseMessage created = await client.PostAsync("/tasks", new StringContent(body, Encoding.UTF8, "application/json")))
                Expect(HttpStatusCode.Created, created.StatusCode);
            string read = await client.GetStringAsync("/tasks/" + id);
            if (read != body)
                throw new InvalidDataException($"sent {body}, got {read}");
            characters += read.Length;
            if (i % 10 == 0)
                await EchoAsync(client, id);
            if (i % 20 == 0)
            {
                using HttpResponseMessage thrown = await client.GetAsync("/throw");
                Expect(HttpStatusCode.InternalServerError, thrown.StatusCode);
                characters += (await client.GetStringAsync("/slow")).Length;
            }

            if (i % 2 == 0)
            {
                using HttpResponseMessage deleted = await client.DeleteAsync("/tasks/" + id);
                Expect(HttpStatusCode.NoContent, deleted.StatusCode);
                using HttpResponseMessage missing = await client.GetAsync("/tasks/" + id);
                Expect(HttpStatusCode.NotFound, missing.StatusCode);
            }
        }

        return characters;
    }

    // Small enough for the windows of HTTP/2: a client that does not read before it has sent everything would wait for a server that waits for it.
    private static async Task EchoAsync(HttpClient client, int seed)
    {
        byte[] data = new byte[5_000 + (seed % 37 * 1000)];
        new Random(seed).NextBytes(data);
        using HttpResponseMessage response = await client.PostAsync("/echo", new ByteArrayContent(data));
        byte[] back = await response.Content.ReadAsByteArrayAsync();
        if (!back.AsSpan().SequenceEqual(data))
            throw new InvalidDataException("the echo differs");
    }

    private static void Expect(HttpStatusCode expected, HttpStatusCode actual)
    {
        if (actual != expected)
            throw new InvalidDataException($"expected {expected}, got {actual}");
    }

    internal sealed record TaskItem(int Id, string Title, string[] Tags);

    internal sealed class Store
    {
        public ConcurrentDictionary<int, TaskItem> Tasks { get; } = new();
    }

    /// <summary>One for each request.</summary>
    internal sealed class Visit : IDisposable
    {
        private int _count;

        public void Count() => _count++;

        public void Dispose()
        {
            if (_count > 1)
                throw new InvalidOperationException("shared by two requests");
        }
    }

    [JsonSourceGenerationOptions(PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase)]
    [JsonSerializable(typeof(TaskItem))]
    [JsonSerializable(typeof(TaskItem[]))]
    internal sealed partial class TaskJson : JsonSerializerContext;
}
