using System.Globalization;
using System.Text.Json.Serialization;
using Freehold.Benchmarks;

const string Help = """
    WebServer [--items N]
    A server of HTTP on a port of its own, which it prints: /plaintext; /items/K, JSON of 20 items out of a cache of so many, from the K-th on; PUT /items/K, which replaces one.
    GET /stop ends it: it prints when its threads were held up. Nothing is deleted.
    """;

var options = Arguments.Parse("WebServer", Help, args, new() { ["--items"] = 200_000 });
if (options is null)
{
    return 2;
}

var stalls = new StallLog();
var count = (int)options["--items"];
var cache = new Item[count];
for (var i = 0; i < count; i++)
{
    cache[i] = Item.Make(i, 0);
}

var builder = WebApplication.CreateSlimBuilder();
builder.Logging.ClearProviders();
builder.WebHost.UseUrls("http://127.0.0.1:0");
builder.Services.ConfigureHttpJsonOptions(json => json.SerializerOptions.TypeInfoResolverChain.Insert(0, ItemContext.Default));
var app = builder.Build();
app.MapGet("/plaintext", () => "Hello, World!");
app.MapGet("/items/{first:int}", (int first) =>
{
    var page = new List<Item>();
    for (var i = 0; i < 20; i++)
    {
        page.Add(Volatile.Read(ref cache[(first + i) % count]));
    }

    return new Page(first, page.Sum(item => item.Price), page);
});
app.MapPut("/items/{number:int}", (int number) =>
{
    ref var place = ref cache[number % count];
    var before = Volatile.Read(ref place);
    Volatile.Write(ref place, Item.Make(before.Number, before.Version + 1));
    return Results.NoContent();
});
app.MapGet("/stop", () => app.Lifetime.StopApplication());
await app.StartAsync();
Console.WriteLine("port " + new Uri(app.Urls.First()).Port.ToString(CultureInfo.InvariantCulture));
await app.WaitForShutdownAsync();
stalls.Stop(Console.Out);
Report.Write("longest_stall_ms", stalls.Longest / 1e6);
Report.Write("stalls", stalls.Count);
Report.Write("collections", GC.CollectionCount(2));
Report.Write("longest_heap_stop_ms", Heap.IsManual ? Heap.GetStatistics().LongestReclaimStop.TotalMilliseconds : 0);
Report.WriteHeap();
return 0;

internal sealed record Item(int Number, int Version, string Name, string Description, double Price, string[] Tags)
{
    public static Item Make(int number, int version) => new(
        number, version, "item " + number, $"The {number}th of all, its version {version}", number % 1000 / 10.0, ["tag " + (number % 7), "tag " + (number % 11)]);
}

internal sealed record Page(int First, double Total, List<Item> Items);

[JsonSerializable(typeof(Page))]
[JsonSourceGenerationOptions(PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase)]
internal sealed partial class ItemContext : JsonSerializerContext;
