using System.Runtime.CompilerServices;

namespace Freehold.Contract;

/// <summary>
/// Points 2 and 5 where addresses are used again: every object is deleted, and references to deleted ones stay in slots, fields, arrays, on stacks and in
/// spans for a while. Whatever is behind one is the object that it was, or throws; never one that came to its address later.
/// </summary>
internal sealed class ReusedAddresses(int seed, ReusedAddresses.Shared shared)
{
    /// <summary>References that threads leave to each other.</summary>
    internal sealed class Shared
    {
        private readonly Reference[] _references = new Reference[64];
        private readonly object _lock = new();

        public Reference Exchange(int index, Reference given)
        {
            lock (_lock)
            {
                ref Reference place = ref _references[index % _references.Length];
                (Reference before, place) = (place, given);
                return before;
            }
        }
    }

    /// <summary>A reference, and what is known of the object without looking at it.</summary>
    internal struct Reference
    {
        public object? Object;
        public long Id;
    }

    // Storing into an array of references looks at what is stored.
    private struct Cell
    {
        public object? Value;
    }

    private enum Kind
    {
        Node, Bytes, References, Boxed, Text, Pages, Huge,
    }

    private sealed class Node(long id)
    {
        public long Id = id;
        public object? Other;
        public long Check = ~id;
    }

    private const int Slots = 340, Epochs = 4, Frames = 10;

    private readonly Reference[] _slots = new Reference[Slots];
    private readonly bool[] _owner = new bool[Slots];  // this slot's object lives, and the slot is the one to end it
    private readonly long[] _others = new long[Slots];  // what the slot's object refers to, which nothing else may: 0 = null
    private ulong _state = (ulong)seed * 0x9e3779b97f4a7c15 | 1;
    private long _made;

    public int LastStep { get; private set; }

    public void Run(int steps)
    {
        for (int i = 0; i < Epochs; i++)
            Hold(Frames, steps / Epochs);
        for (int i = 0; i < Slots; i++)
            Empty(i);
    }

    private void Step()
    {
        LastStep++;
        int a = NextSlot(), b = NextSlot();
        switch (Next(20))
        {
            case < 8:
                Empty(a);
                Make(a);
                break;
            case < 12:
                End(a);
                break;
            case < 14:  // a copy, of what lives or not
                if (a == b)
                    break;
                Empty(a);
                _slots[a] = _slots[b];
                break;
            case < 16:
                Refer(a, b);
                break;
            case 16:
                Expect.True(ReferenceEquals(_slots[a].Object, _slots[b].Object) == (_slots[a].Id == _slots[b].Id));
                break;
            case 17:
                Exchange(a);
                break;
            default:
                Check(_slots[a]);
                CheckOther(a);
                break;
        }
    }

    private int Next(int below)
    {
        _state ^= _state >> 12;
        _state ^= _state << 25;
        _state ^= _state >> 27;
        return (int)((_state * 0x2545f4914f6cdd1d >> 33) % (ulong)below);
    }

    // A search takes as long as thousands of steps: what is in some of the slots stays for as long, in others for several of them.
    private int NextSlot() => Next(1_000) switch
    {
        0 => 330 + Next(10),
        < 10 => 300 + Next(30),
        _ => Next(300),
    };

    private long NextId() => ++_made * 4_096 + seed % 4_096 * 64 + Next(64);

    private static Kind KindOf(long id) => (id % 64) switch
    {
        < 24 => Kind.Node,
        < 40 => Kind.Bytes,
        < 50 => Kind.References,
        < 55 => Kind.Boxed,
        < 60 => Kind.Text,
        < 63 => Kind.Pages,
        _ => id % 1024 == 63 ? Kind.Huge : Kind.Boxed,
    };

    private static int LengthOf(long id) => KindOf(id) switch
    {
        Kind.Pages => 40_000 + (int)(id % 7) * 10_000,
        Kind.Huge => 3_000_000,
        Kind.References => 3 + (int)(id % 50),
        _ => 16 + (int)(id % 5_000),
    };

    private void Make(int slot)
    {
        long id = NextId();
        _slots[slot] = new() { Id = id, Object = Create(id) };
        _owner[slot] = true;
        _others[slot] = 0;
    }

    private static object Create(long id)
    {
        switch (KindOf(id))
        {
            case Kind.Node:
                return new Node(id);
            case Kind.References:
                return new Cell[LengthOf(id)];
            case Kind.Boxed:
                return id;
            case Kind.Text:
                return new string((char)('a' + id % 26), (int)(id % 40) + 1);
            default:
                byte[] bytes = new byte[LengthOf(id)];
                BitConverter.TryWriteBytes(bytes, id);
                BitConverter.TryWriteBytes(bytes.AsSpan(^8), ~id);
                return bytes;
        }
    }

    /// <summary>Ends the object of a slot; the reference stays.</summary>
    private void End(int slot)
    {
        if (!_owner[slot])
            return;
        _owner[slot] = false;
        Heap.Delete(_slots[slot].Object);
    }

    private void Empty(int slot)
    {
        End(slot);
        _slots[slot] = default;
        _others[slot] = 0;
    }

    /// <summary>Has the object of a slot refer to that of another, dead or alive.</summary>
    private void Refer(int from, int to)
    {
        if (!_owner[from])
            return;
        switch (_slots[from].Object)
        {
            case Node node:
                node.Other = _slots[to].Object;
                break;
            case Cell[] array:
                array[^1].Value = _slots[to].Object;
                break;
            default:
                return;
        }
        _others[from] = _slots[to].Id;
    }

    private void CheckOther(int slot)
    {
        if (!_owner[slot] || _others[slot] == 0)
            return;
        object? found = _slots[slot].Object is Node node ? node.Other : ((Cell[])_slots[slot].Object!)[^1].Value;
        Expect.True(found is not null);
        Check(new() { Object = found, Id = _others[slot] });
    }

    private void Exchange(int slot)
    {
        // Who takes it uses it while its owner may end it.
        Reference before = shared.Exchange(Next(64), _slots[slot]);
        Check(before);
    }

    /// <summary>So many frames, each of which holds a reference that is nowhere else to a deleted object, and a span, while the steps are made.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private void Hold(int frames, int steps)
    {
        if (frames == 0)
        {
            for (int i = 0; i < steps; i++)
                Step();
            return;
        }
        long id = NextId();
        var held = new Reference { Id = id, Object = Create(id) };
        Span<byte> span = held.Object is byte[] bytes ? bytes : default;
        Heap.Delete(held.Object);
        // So that the next one has other neighbours.
        for (int i = 0; i < steps / 100; i++)
            Step();
        Hold(frames - 1, steps - steps / 100);
        Check(held);
        if (span.IsEmpty)
            return;
        try
        {
            Expect.Equal(id, BitConverter.ToInt64(span));
        }
        catch (DanglingReferenceException)
        {
        }
    }

    /// <summary>The object behind a reference is the one that it was, or throws.</summary>
    private void Check(Reference reference)
    {
        if (reference.Object is not { } found)
            return;
        long id = reference.Id;
        try
        {
            bool same = KindOf(id) switch
            {
                Kind.Node => found is Node node && node.Id == id && node.Check == ~id,
                Kind.References => found is Cell[] array && array.Length == LengthOf(id) && array[0].Value is null,
                Kind.Boxed => found is long value && value == id,
                Kind.Text => found is string text && text.Length == (int)(id % 40) + 1 && text[^1] == (char)('a' + id % 26),
                _ => found is byte[] bytes && bytes.Length == LengthOf(id) && BitConverter.ToInt64(bytes) == id && BitConverter.ToInt64(bytes, bytes.Length - 8) == ~id,
            };
            if (!same)
                throw new ContractException($"behind a reference to the {KindOf(id)} {id} is something else");
        }
        catch (DanglingReferenceException)
        {
        }
    }
}
