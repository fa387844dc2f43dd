using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Runtime.InteropServices;

namespace System;

/// <summary>What the program forgot to delete, by type and by where it was allocated.</summary>
public sealed class LeakReport : EventArgs
{
    // As in heap/reachability.h.
    private const int NotPossible = 1;
    private const int NoRoom = 2;
    private const int MostTypes = 50;
    private const int MostSites = 5;

    internal static readonly LeakReport None = new([]);

    private LeakReport(IReadOnlyList<Leak> leaks)
    {
        Leaks = leaks;
        Count = leaks.Sum(leak => leak.Count);
        Bytes = leaks.Sum(leak => leak.Bytes);
    }

    /// <summary>One item for each type, the most bytes first.</summary>
    public IReadOnlyList<Leak> Leaks { get; }

    /// <summary>Objects of all types.</summary>
    public long Count { get; }

    /// <summary>What they take, headers included.</summary>
    public long Bytes { get; }

    /// <summary>Writes what there is as text: a line for each type, and under it the stacks of its allocations. Of many types and places those with the most bytes.</summary>
    /// <param name="writer">Where to.</param>
    public void WriteTo(TextWriter writer)
    {
        ArgumentNullException.ThrowIfNull(writer);
        if (Count == 0)
        {
            writer.WriteLine("Freehold: no leaks: what nothing reaches was deleted.");
            return;
        }

        writer.WriteLine(Invariant($"Freehold: leaks: {Size(Bytes)} in {Count} objects that nothing reaches and nobody deleted"));
        foreach (Leak leak in Leaks.Take(MostTypes))
        {
            writer.WriteLine(Invariant($"{Size(leak.Bytes),12} {leak.Count,10} x {leak.Type}"));
            foreach (LeakSite site in leak.Sites.Take(MostSites))
            {
                writer.WriteLine(Invariant($"{"",12} {(site.Samples == 0 ? "" : "about ")}{Size(site.Bytes)} in {site.Count} objects{(site.Samples == 0 ? "" : $" ({site.Samples} sampled)")} allocated"));
                foreach (ReadOnlySpan<char> line in site.StackTrace.AsSpan().EnumerateLines())
                {
                    writer.Write("             ");
                    writer.WriteLine(line);
                }
            }

            if (leak.Sites.Count > MostSites)
            {
                writer.WriteLine(Invariant($"{"",12} and at {leak.Sites.Count - MostSites} other places"));
            }
        }

        if (Leaks.Count > MostTypes)
        {
            writer.WriteLine(Invariant($"{"",12} and {Leaks.Count - MostTypes} other types"));
        }
    }

    /// <summary>The same text as a string.</summary>
    public override string ToString()
    {
        using var writer = new StringWriter(CultureInfo.InvariantCulture);
        WriteTo(writer);
        return writer.ToString();
    }

    internal static LeakReport Find()
    {
        // They are no leaks, nor is what the report is made of.
        OutgrownArrays.DeleteAll();
        using (Heap.Scope())
        {
            return Search();
        }
    }

    private static unsafe LeakReport Search()
    {
        for (int capacity = 4096; ; capacity *= 4)
        {
            var entries = (LeakEntry*)NativeMemory.Alloc((nuint)capacity, (nuint)sizeof(LeakEntry));
            try
            {
                int result = NativeHeap.FindLeaks(entries, capacity);
                if (result == NotPossible)
                {
                    throw UnreachableObjects.NoMemory();
                }

                if (result != NoRoom)
                {
                    return new LeakReport(ToLeaks(new ReadOnlySpan<LeakEntry>(entries, capacity)));
                }
            }
            finally
            {
                NativeMemory.Free(entries);
            }
        }
    }

    private static Leak[] ToLeaks(ReadOnlySpan<LeakEntry> entries)
    {
        var types = new Dictionary<nint, List<LeakEntry>>();
        foreach (LeakEntry entry in entries)
        {
            if (entry.Type == 0)
            {
                continue;
            }

            if (!types.TryGetValue(entry.Type, out List<LeakEntry>? ofType))
            {
                types[entry.Type] = ofType = [];
            }

            ofType.Add(entry);
        }

        var leaks = new List<Leak>();
        foreach ((nint handle, List<LeakEntry> ofType) in types)
        {
            // Only samples of a type: its objects are not there any more, or not yet.
            if (Type.GetTypeFromHandle(RuntimeTypeHandle.FromIntPtr(handle)) is Type type && ofType.Exists(entry => entry.Samples == 0))
            {
                leaks.Add(ToLeak(type, ofType));
            }
        }

        return [.. leaks.OrderByDescending(leak => leak.Bytes)];
    }

    private static Leak ToLeak(Type type, List<LeakEntry> entries)
    {
        long count = 0, bytes = 0, sampledCount = 0, sampledBytes = 0;
        foreach (LeakEntry entry in entries)
        {
            if (entry.Samples == 0)
            {
                count += entry.Count;
                bytes += entry.Bytes;
            }
            else
            {
                sampledCount += entry.Count;
                sampledBytes += entry.Bytes;
            }
        }

        var sites = new List<LeakSite>();
        foreach (LeakEntry entry in entries)
        {
            if (entry.Samples != 0)
            {
                // What is known of the type is exact, so that samples only give shares.
                sites.Add(new LeakSite(Share(count, entry.Count, sampledCount), Share(bytes, entry.Bytes, sampledBytes), entry.Samples, AllocationStack.Describe(entry.Stack)));
            }
            else if (entry.Stack != AllocationStack.None)
            {
                sites.Add(new LeakSite(entry.Count, entry.Bytes, 0, AllocationStack.Describe(entry.Stack)));
            }
        }

        return new Leak(type, count, bytes, [.. sites.OrderByDescending(site => site.Bytes)]);
    }

    private static long Share(long whole, long part, long parts) => (long)Math.Round((double)whole * part / parts);

    private static string Size(long bytes) => bytes switch
    {
        < 10_000 => Invariant($"{bytes} B"),
        < 10_000_000 => Invariant($"{bytes / 1024.0:0.0} KB"),
        _ => Invariant($"{bytes / 1048576.0:0.0} MB"),
    };

    private static string Invariant(FormattableString text) => FormattableString.Invariant(text);
}
