namespace Freehold.Soak;

/// <summary>An object of the program, with parts that only it leads to. What it says of itself is checked before it goes.</summary>
internal sealed class Record
{
    private readonly ulong _seed;
    private readonly byte[] _payload;
    private readonly string _name;
    private readonly Link? _links;

    public Record(ulong seed)
    {
        _seed = seed;
        var random = new Benchmarks.Random64(seed);
        // Most are small, one in 64 has some kilobytes, one in 16,384 is one of the large objects.
        var length = random.Next(16_384) == 0 ? 40_000 + random.Next(200_000) : random.Next(64) == 0 ? random.Next(16_000) : random.Next(200);
        _payload = new byte[length];
        Fill(_payload, seed);
        _name = NameOf(seed);
        for (var i = random.Next(4); i > 0; i--)
        {
            _links = new Link(_links, seed + (ulong)i);
        }
    }

    /// <summary>What is wrong with it, or null.</summary>
    public string? Defect()
    {
        if (_name != NameOf(_seed))
        {
            return $"record {_seed} is called {_name}";
        }

        for (var i = 0; i < _payload.Length; i += 64)
        {
            if (_payload[i] != At(_seed, i))
            {
                return $"record {_seed} holds {_payload[i]} at {i} of {_payload.Length}";
            }
        }

        ulong wanted = 1;
        for (var link = _links; link is not null; link = link.Next, wanted++)
        {
            if (link.Value != _seed + wanted)
            {
                return $"record {_seed} leads to {link.Value}";
            }
        }

        return null;
    }

    /// <summary>Deletes it and its parts.</summary>
    public void Delete()
    {
        for (var link = _links; link is not null;)
        {
            var next = link.Next;
            Heap.Delete(link);
            link = next;
        }

        Heap.Delete(_payload);
        Heap.Delete(_name);
        Heap.Delete(this);
    }

    // A text of its own: those of small numbers are the framework's.
    private static string NameOf(ulong seed) => string.Create(System.Globalization.CultureInfo.InvariantCulture, $"record {seed % 1_000_003}");

    private static byte At(ulong seed, int i) => (byte)(seed + ((ulong)i >> 6));

    private static void Fill(byte[] payload, ulong seed)
    {
        for (var i = 0; i < payload.Length; i += 64)
        {
            payload[i] = At(seed, i);
        }
    }

    private sealed class Link(Link? next, ulong value)
    {
        public Link? Next { get; } = next;

        public ulong Value { get; } = value;
    }
}
