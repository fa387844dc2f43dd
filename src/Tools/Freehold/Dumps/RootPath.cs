using System.Globalization;

namespace Freehold.Tool.Dumps;

/// <summary>Why an object is there: the shortest way from a root to it.</summary>
internal static class RootPath
{
    /// <summary>From the root on. Empty: no root leads there.</summary>
    public static IReadOnlyList<int> To(HeapGraph graph, Func<int, bool> isWanted)
    {
        int[] from = new int[graph.Count];
        Array.Fill(from, -2);
        var queue = new Queue<int>();
        foreach (int start in graph.Starts())
        {
            from[start] = -1;
            queue.Enqueue(start);
        }

        while (queue.TryDequeue(out int node))
        {
            if (isWanted(node))
            {
                var path = new List<int>();
                for (int step = node; step >= 0; step = from[step])
                {
                    path.Add(step);
                }

                path.Reverse();
                return path;
            }

            foreach (int target in graph.ReferencesOf(node))
            {
                if (target >= 0 && from[target] == -2 && graph.States[target] != ObjectState.Deleted)
                {
                    from[target] = node;
                    queue.Enqueue(target);
                }
            }
        }

        return [];
    }

    /// <summary>What an argument of --path means: the object at an address in hexadecimal digits, or objects of a type.</summary>
    /// <exception cref="ToolException">There is none.</exception>
    public static Func<int, bool> Parse(HeapGraph graph, string wanted)
    {
        string digits = wanted.StartsWith("0x", StringComparison.OrdinalIgnoreCase) ? wanted[2..] : wanted;
        if (long.TryParse(digits, NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture, out long address) && Array.IndexOf(graph.Addresses, address) is >= 0 and int node)
        {
            return candidate => candidate == node;
        }

        bool[] types = [.. graph.TypeNames.Select(name => name == wanted)];
        if (!types.Contains(true))
        {
            types = [.. graph.TypeNames.Select(name => name.Contains(wanted, StringComparison.OrdinalIgnoreCase))];
        }

        return types.Contains(true) ? candidate => types[graph.Types[candidate]] : throw new ToolException($"the dump has no object at the address '{wanted}', and no type whose name has that in it.");
    }

    /// <summary>What holds the first object of a path.</summary>
    public static string Describe(HeapGraph graph, int start)
    {
        foreach (Root root in graph.Roots)
        {
            if (root.Target == start)
            {
                return root.Kind switch
                {
                    RootKind.Stack => string.Create(CultureInfo.InvariantCulture, $"the stack of thread {root.Thread}"),
                    RootKind.ThreadStatic => string.Create(CultureInfo.InvariantCulture, $"thread statics of thread {root.Thread}"),
                    RootKind.Handle => "a handle",
                    RootKind.PinnedHandle => "a pinned handle",
                    RootKind.CountedHandle => "a handle of native code",
                    _ => "the queue of finalizers",
                };
            }
        }

        return "the program's file";
    }
}
