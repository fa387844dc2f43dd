using System.Globalization;
using Freehold.Benchmarks;
using Freehold.Collections;

// TreeArray<T> beside an array: times of the one divided by those of the other, median, lowest and highest of pairs of runs.
CultureInfo.CurrentCulture = CultureInfo.InvariantCulture;
int megabytes = 1024, count = 9;
for (var i = 0; i < args.Length; i += 2)
{
    if (i + 1 < args.Length && args[i] == "--megabytes" && int.TryParse(args[i + 1], out megabytes) && int.IsPow2(megabytes))
    {
        continue;
    }

    if (i + 1 < args.Length && args[i] == "--pairs" && int.TryParse(args[i + 1], out count) && count > 0)
    {
        continue;
    }

    Console.Error.WriteLine("TreeArrays [--megabytes N (1024), a power of two] [--pairs N (9)]");
    return 2;
}

var pairs = new Pairs(count);
Console.WriteLine($"{(Heap.IsManual ? "Freehold" : "stock"),-28}  ratio  [lowest, highest]");
Linear.Run(pairs, megabytes << 17);
Linear.RunCached(pairs);
Linear.RunSort(pairs);
BlackScholes.Run(pairs);

const int Depth = 16;
var entries = new ulong[1 << 22];
var treeEntries = new TreeArray<ulong>(1 << 22);
pairs.Compare(
    "game-tree search",
    () =>
    {
        Array.Clear(entries);
        var game = new ConnectFour<ArrayTable>(new(entries));
        game.Best(0, 0, Depth, -1000, 1000);
        return game.Nodes;
    },
    () =>
    {
        treeEntries.Clear();
        var game = new ConnectFour<TreeTable>(new(treeEntries));
        game.Best(0, 0, Depth, -1000, 1000);
        return game.Nodes;
    });
return 0;
