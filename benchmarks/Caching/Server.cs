using System.Globalization;

namespace Freehold.Benchmarks.Caching;

/// <summary>The cache behind Kestrel.</summary>
internal static class Server
{
    /// <summary>Serves on a port of its own, which it prints: GET /values/K is the value of a key, GET /stop ends it.</summary>
    public static async Task Run(ValueCache cache, int keys)
    {
        var builder = WebApplication.CreateSlimBuilder();
        builder.Logging.ClearProviders();
        builder.WebHost.UseUrls("http://127.0.0.1:0");
        var app = builder.Build();
        app.MapGet("/values/{key:int}", async (int key, HttpResponse response) =>
        {
            key = (int)((uint)key % (uint)keys);
            var value = cache.Get(key, out _);
            value.Read(key);
            response.ContentLength = value.Data.Length;
            await response.Body.WriteAsync(value.Data);
            value.LetGo();
        });
        app.MapGet("/stop", () => app.Lifetime.StopApplication());
        await app.StartAsync();
        Console.WriteLine("port " + new Uri(app.Urls.First()).Port.ToString(CultureInfo.InvariantCulture));
        await app.WaitForShutdownAsync();
    }
}
