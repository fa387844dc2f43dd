using System.Text.Json.Serialization;

WebApplicationBuilder builder = WebApplication.CreateSlimBuilder(args);
builder.Services.ConfigureHttpJsonOptions(options => options.SerializerOptions.TypeInfoResolverChain.Insert(0, JsonContext.Default));
WebApplication app = builder.Build();

// First, so that it encloses the rest: what a request allocates, and nothing outside of it leads to, is deleted when the request is answered.
app.UseHeapScopes();

Order[] orders = [new(1, "nails", 250), new(2, "a hammer", 1), new(3, "planks", 12)];

app.MapGet("/orders", () => orders);
app.MapGet("/orders/{number}", (int number) => orders.FirstOrDefault(order => order.Number == number) is { } order ? Results.Ok(order) : Results.NotFound());
app.MapGet("/heap", () =>
{
    HeapStatistics heap = Heap.GetStatistics();
    return new HeapView(Heap.IsManual, heap.LiveBytes, heap.DeletedBytes, heap.Scopes);
});

app.Run();

internal sealed record Order(int Number, string Article, int Count);

internal sealed record HeapView(bool IsManual, long LiveBytes, long DeletedBytes, long Scopes);

// Published programs have no reflection for JSON.
[JsonSerializable(typeof(Order[]))]
[JsonSerializable(typeof(HeapView))]
internal sealed partial class JsonContext : JsonSerializerContext;
