using System.Diagnostics;
using System.Runtime.CompilerServices;
using Freehold.Benchmarks;

const string Help = """
    Scopes [--live N] [--objects N] [--kept N] [--threads N] [--seconds N]
    A heap of so many objects. Each thread makes nodes in a list, so many for each scope, and stores so many of them into an array from outside: with Heap.Scope and without. The time of one, and of a node.
    """;

var options = Arguments.Parse("Scopes", Help, args, new() { ["--live"] = 1_000_000, ["--objects"] = 1_000, ["--kept"] = 10, ["--threads"] = 1, ["--seconds"] = 4 });
if (options is null)
{
    return 2;
}

var live = new Node[options["--live"]];
for (var i = 0; i < live.Length; i++)
{
    live[i] = new Node(null);
}

var objects = (int)options["--objects"];
var parts = Enumerable.Range(0, (int)options["--threads"]).Select(_ => new Part(new Node[Math.Max(1, options["--kept"])])).ToArray();
foreach (var scoped in new[] { false, true })
{
    var end = Stopwatch.GetTimestamp() + (options["--seconds"] * Stopwatch.Frequency / 2);
    Workers.Run(parts, part =>
    {
        part.Scopes = 0;
        while (Stopwatch.GetTimestamp() < end)
        {
            if (scoped)
            {
                using (Heap.Scope())
                {
                    Work(part.Kept, (int)options["--kept"], objects);
                }
            }
            else
            {
                Work(part.Kept, (int)options["--kept"], objects);
            }

            part.Scopes++;
        }
    });
    var nanoseconds = options["--seconds"] / 2 * 1e9 * parts.Length / parts.Sum(part => part.Scopes);
    Report.Write(scoped ? "ns_per_scope" : "ns_without", nanoseconds);
    if (objects != 0)
    {
        Report.Write(scoped ? "ns_per_object_in_scope" : "ns_per_object_without", nanoseconds / objects);
    }
}

var statistics = Heap.GetStatistics();
Report.Write("objects_deleted_by_a_scope", (double)statistics.ScopeObjects / Math.Max(1, statistics.Scopes));
Report.Write("longest_scope_stop_ms", statistics.LongestScopeStop.TotalMilliseconds);
GC.KeepAlive(live);
return 0;

[MethodImpl(MethodImplOptions.NoInlining)]
static void Work(Node[] kept, int count, int objects)
{
    Node? list = null;
    for (var i = 0; i < objects; i++)
    {
        list = new Node(list);
        if (i < count)
        {
            kept[i] = new Node(null);
        }
    }

    GC.KeepAlive(list);
}

internal sealed class Node(Node? next)
{
    public Node? Next { get; } = next;

    public long Number { get; set; }
}

internal sealed class Part(Node[] kept)
{
    public Node[] Kept { get; } = kept;

    public long Scopes { get; set; }
}
