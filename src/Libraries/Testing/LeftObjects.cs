using System.Globalization;
using System.Text;

namespace Freehold.Testing;

/// <summary>By which types, and by which places, there is more behind a block than before it.</summary>
internal sealed class LeftObjects
{
    private const int MostTypes = 20;
    private const int MostPlaces = 5;

    private readonly List<OfType> _types;

    /// <summary>What one run has left.</summary>
    /// <param name="before">All objects before it.</param>
    /// <param name="after">All behind it.</param>
    /// <param name="lostBefore">Those that no root leads to, before it.</param>
    /// <param name="lostAfter">Those that no root leads to, behind it.</param>
    /// <param name="own">The type of an object that the run itself needs; 0 if there is none.</param>
    internal LeftObjects(LiveObjects before, LiveObjects after, LiveObjects lostBefore, LiveObjects lostAfter, nint own)
    {
        var types = new Dictionary<nint, OfType>();
        Add(types, after.Entries, 1);
        Add(types, before.Entries, -1);
        AddLost(types, lostAfter.Entries, 1);
        AddLost(types, lostBefore.Entries, -1);
        if (types.TryGetValue(own, out OfType? ofOwn) && ofOwn.Count > 0)
        {
            ofOwn.Bytes -= ofOwn.Bytes / ofOwn.Count;
            ofOwn.Count--;
        }

        _types = Sorted(types.Values);
    }

    private LeftObjects(List<OfType> types) => _types = types;

    internal long Count => _types.Sum(type => Math.Max(type.Count, 0));

    internal long Bytes => _types.Sum(type => Math.Max(type.Bytes, 0));

    /// <summary>What this run and another one have both left.</summary>
    internal LeftObjects Common(LeftObjects other)
    {
        Dictionary<nint, OfType> others = other._types.ToDictionary(type => type.Handle);
        return new LeftObjects(Sorted(_types.Where(type => others.ContainsKey(type.Handle)).Select(type => type.Common(others[type.Handle]))));
    }

    /// <summary>The message of a failed assertion.</summary>
    internal string Describe(long allowed, bool reclaimed)
    {
        var text = new StringBuilder();
        string more = allowed == 0 ? "" : string.Create(CultureInfo.InvariantCulture, $", more than {allowed} bytes,");
        text.Append(CultureInfo.InvariantCulture, $"The block left {Bytes} bytes in {Count} objects{more} ");
        text.Append(reclaimed ? "that can still be reached:" : "that it allocated and nobody deleted:");
        foreach (OfType type in _types.Take(MostTypes))
        {
            text.AppendLine().Append(CultureInfo.InvariantCulture, $"  {type.Bytes} bytes in {type.Count} x {type.Name}{Lost(type)}");
            List<KeyValuePair<uint, (long Count, long Bytes)>> places = [.. type.Places.Where(place => place.Key != AllocationStack.None && place.Value.Bytes > 0).OrderByDescending(place => place.Value.Bytes)];
            foreach ((uint stack, (long count, long bytes)) in places.Take(MostPlaces))
            {
                text.AppendLine().Append(CultureInfo.InvariantCulture, $"    {bytes} bytes in {count} objects allocated");
                foreach (ReadOnlySpan<char> line in AllocationStack.Describe(stack).AsSpan().EnumerateLines())
                {
                    text.AppendLine().Append("    ").Append(line);
                }
            }

            if (places.Count > MostPlaces)
            {
                text.AppendLine().Append(CultureInfo.InvariantCulture, $"    and at {places.Count - MostPlaces} other places");
            }
        }

        if (_types.Count > MostTypes)
        {
            text.AppendLine().Append(CultureInfo.InvariantCulture, $"  and {_types.Count - MostTypes} other types");
        }

        return text.ToString();
    }

    private static string Lost(OfType type) => (Lost: Math.Clamp(type.Lost, 0, Math.Max(type.Count, 0)), type.Count) switch
    {
        (0, _) => ", which can be reached",
        (var lost, var count) when lost == count => ", to which nothing leads any more",
        var (lost, _) => string.Create(CultureInfo.InvariantCulture, $", to {lost} of which nothing leads any more"),
    };

    private static List<OfType> Sorted(IEnumerable<OfType> types) => [.. types.Where(type => type.Count > 0 || type.Bytes > 0).OrderByDescending(type => type.Bytes)];

    private static void Add(Dictionary<nint, OfType> types, ReadOnlySpan<LeakEntry> entries, int sign)
    {
        foreach (LeakEntry entry in entries)
        {
            if (entry.Type == 0)
            {
                continue;
            }

            if (!types.TryGetValue(entry.Type, out OfType? type))
            {
                types[entry.Type] = type = new OfType(entry.Type);
            }

            type.Count += sign * entry.Count;
            type.Bytes += sign * entry.Bytes;
            (long count, long bytes) = type.Places.GetValueOrDefault(entry.Stack);
            type.Places[entry.Stack] = (count + (sign * entry.Count), bytes + (sign * entry.Bytes));
        }
    }

    // Entries with samples only give shares of places.
    private static void AddLost(Dictionary<nint, OfType> types, ReadOnlySpan<LeakEntry> entries, int sign)
    {
        foreach (LeakEntry entry in entries)
        {
            if (entry.Type != 0 && entry.Samples == 0 && types.TryGetValue(entry.Type, out OfType? type))
            {
                type.Lost += sign * entry.Count;
            }
        }
    }

    private sealed class OfType(nint handle)
    {
        public nint Handle => handle;

        public long Count { get; set; }

        public long Bytes { get; set; }

        public long Lost { get; set; }

        public Dictionary<uint, (long Count, long Bytes)> Places { get; } = [];

        public OfType Common(OfType other)
        {
            var common = new OfType(handle) { Count = Math.Min(Count, other.Count), Bytes = Math.Min(Bytes, other.Bytes), Lost = Math.Min(Lost, other.Lost) };
            foreach ((uint stack, (long count, long bytes)) in Places)
            {
                (long otherCount, long otherBytes) = other.Places.GetValueOrDefault(stack);
                common.Places[stack] = (Math.Min(count, otherCount), Math.Min(bytes, otherBytes));
            }

            return common;
        }

        public string Name => Type.GetTypeFromHandle(RuntimeTypeHandle.FromIntPtr(handle))?.ToString() ?? "an unknown type";
    }
}
