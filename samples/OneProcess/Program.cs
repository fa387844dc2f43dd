// A web front in C#, its cache in C with handles, and a C library that was never ported, under the meshing malloc: three heaps in one process, under one limit.
//   OneProcess [rounds [MB [plot.svg]]]      serves its own load, whose seasons make each heap grow by so many MB in turn; results on standard output, figures on standard error
using System.Diagnostics;
using System.Globalization;

if (args is ["load", string loadPort, string loadRounds, string loadSize]) return await Load.Run(Number(loadPort), Number(loadRounds), Number(loadSize));
int rounds = args.Length > 0 ? Number(args[0]) : 2, megabytes = args.Length > 1 ? Number(args[1]) : 170;

using var shop = new Shop();
var timeline = new Timeline();
WebApplicationBuilder builder = WebApplication.CreateSlimBuilder();
builder.Logging.ClearProviders();
builder.WebHost.UseUrls("http://127.0.0.1:0");
WebApplication app = builder.Build();
app.MapGet("/sessions/{first:int}/{count:int}/{season:int}", (int first, int count, int season) => Text(shop.Visit(first, count, season)));
app.MapGet("/pages/{first:int}/{count:int}/{season:int}", (int first, int count, int season) => Text(shop.Page(first, count, season)));
app.MapGet("/searches/{first:int}/{count:int}/{season:int}", (int first, int count, int season) => Text(shop.Search(first, count)));
app.MapDelete("/sessions", () => Text((ulong)shop.Leave()));
app.MapDelete("/pages/{bytes:long}", (long bytes) => shop.Shrink(bytes));
app.MapDelete("/searches", () => Text((ulong)shop.Forget()));
app.MapGet("/season/{part}/{number:int}", (string part, int number) => timeline.Begin(part));
await app.StartAsync();

string result;
using (Process load = Load.Start(new Uri(app.Urls.First()).Port, rounds, megabytes))
{
    result = await load.StandardOutput.ReadToEndAsync();
    await load.WaitForExitAsync();
    if (load.ExitCode != 0) return load.ExitCode;
}

await app.StopAsync();
timeline.Dispose();
HeapStatistics figures = Heap.GetStatistics();
Heap.Verify();
Console.WriteLine($"{result.Trim()}, {shop.Sessions} sessions and {shop.WordCount} words are left");
if (args.Length > 2)
{
    timeline.Draw(args[2], figures.MemoryLimit);
    timeline.Write(Path.ChangeExtension(args[2], ".csv"));
}

Console.Error.WriteLine($"managed heap: at most {Most(one => one.Managed)} MB, {figures.DeletedObjects} objects deleted, {figures.MovedObjects} moved");
Console.Error.WriteLine($"heap of handles: at most {Most(one => one.Handles)} MB, {shop.Pages} pages are left, {figures.Handles.MovedObjects} objects moved in {figures.Handles.Stops} stops, the longest {figures.Handles.LongestStop.TotalMilliseconds:f2} ms");
Console.Error.WriteLine($"meshing malloc: at most {Most(one => one.Malloc)} MB, {figures.Native.Meshes} spans meshed");
Console.Error.WriteLine($"process: at most {Most(one => one.Pss)} MB of PSS, limit {figures.MemoryLimit >> 20} MB; {figures.BudgetRounds} rounds gave {figures.BudgetSpareBytes >> 20} MB that waited, "
    + $"{figures.BudgetCompactedBytes >> 20} MB by compaction and {figures.BudgetReclaimedBytes >> 20} MB of unreachable objects in {figures.BudgetTime.TotalMilliseconds:f0} ms");
return 0;

long Most(Func<Timeline.Sample, long> value) => timeline.Samples.Max(value) >> 20;
static string Text(ulong number) => number.ToString(CultureInfo.InvariantCulture);
static int Number(string text) => int.Parse(text, CultureInfo.InvariantCulture);
