using System.Runtime.CompilerServices;

namespace Freehold.Contract;

/// <summary>How many objects a thread has at most, and how rare it is that the whole heap is collected or verified: each so-many-th time of those drawn.</summary>
internal readonly record struct ModelSize(int Slots, int Rarity);

/// <summary>One thread's graph. For each slot the model knows kind, id, version, and whether the object was deleted.</summary>
internal sealed class Model(int seed, int thread, SharedSlots shared, ModelSize size)
{

    private readonly Random _random = new(seed);
    private readonly object?[] _objects = new object?[size.Slots];
    private readonly ShapeKind[] _kinds = new ShapeKind[size.Slots];
    private readonly int[] _ids = new int[size.Slots];
    private readonly int[] _versions = new int[size.Slots];
    private readonly int[] _hashes = new int[size.Slots];
    private readonly bool[] _deleted = new bool[size.Slots];

    // What a live node's or array's links lead to: the slot's id at the time, and the slot.
    private readonly (int Slot, int Id)[] _links = new (int, int)[size.Slots];
    private int _nextId = thread * 10_000_000 + 1;

    public int LastStep { get; private set; }

    public string LastOperation { get; private set; } = "";

    public void Step(int step)
    {
        LastStep = step;
        int slot = _random.Next(_objects.Length);
        switch (_random.Next(100))
        {
            case < 30:
                Create(slot);
                break;
            case < 45:
                Delete(slot);
                break;
            case < 70:
                Use(slot);
                break;
            case < 80:
                Change(slot);
                break;
            case < 87:
                Link(slot, _random.Next(_objects.Length));
                break;
            case < 93:
                Follow(slot);
                break;
            case < 94:
                Lock(slot);
                break;
            case < 95:
                Span(slot);
                break;
            case < 97:
                shared.Replace(_random, _nextId++);
                break;
            case < 99:
                shared.Read(_random);
                break;
            default:
                if (_random.Next(size.Rarity) == 0)
                    Rare();
                break;
        }
    }

    public void CheckAll()
    {
        for (int slot = 0; slot < _objects.Length; slot++)
        {
            Use(slot);
            Follow(slot);
        }
    }

    private void Create(int slot)
    {
        LastOperation = $"create slot {slot}";
        if (_objects[slot] is not null && !_deleted[slot] && _random.Next(4) > 0)
            Delete(slot);
        _kinds[slot] = _random.Next(50) == 0 ? ShapeKind.Large : (ShapeKind)_random.Next((int)ShapeKind.Large);
        _ids[slot] = _nextId++;
        _versions[slot] = 0;
        _hashes[slot] = 0;
        _deleted[slot] = false;
        _links[slot] = (-1, 0);
        _objects[slot] = ModelShapes.Make(_kinds[slot], _ids[slot]);
    }

    private void Delete(int slot)
    {
        LastOperation = $"delete slot {slot} ({_kinds[slot]}, deleted {_deleted[slot]})";
        if (_objects[slot] is not { } value)
            return;
        if (_deleted[slot])
        {
            Expect.SecondDeleteThrows(value);
            return;
        }
        Heap.Delete(value);
        _deleted[slot] = true;
        if (DebugMode.IsOn)
        {
            Expect.Throws<DanglingReferenceException>(() => ModelShapes.IsRight(_kinds[slot], value, _ids[slot], _versions[slot]));
        }
    }

    private void Use(int slot)
    {
        LastOperation = $"use slot {slot} ({_kinds[slot]}, deleted {_deleted[slot]})";
        if (_objects[slot] is not { } value)
            return;
        try
        {
            if (!ModelShapes.IsRight(_kinds[slot], value, _ids[slot], _versions[slot]))
                throw new ContractException($"the object {_ids[slot]} holds something else");
        }
        catch (DanglingReferenceException) when (_deleted[slot])
        {
        }
    }

    private void Change(int slot)
    {
        LastOperation = $"change slot {slot} ({_kinds[slot]}, deleted {_deleted[slot]})";
        if (_objects[slot] is not { } value)
            return;
        int version = _versions[slot] + 1;
        try
        {
            if (ModelShapes.Change(_kinds[slot], value, _ids[slot], version))
                _versions[slot] = version;
        }
        catch (DanglingReferenceException) when (_deleted[slot])
        {
            // It may have been changed in part: forget it.
            _objects[slot] = null;
        }
    }

    private void Link(int slot, int to)
    {
        LastOperation = $"link slot {slot} ({_kinds[slot]}, deleted {_deleted[slot]}) to {to}";
        if (_objects[slot] is not { } value || _kinds[slot] is not (ShapeKind.Node or ShapeKind.References))
            return;
        try
        {
            if (_kinds[slot] == ShapeKind.Node)
                ((ModelNode)value).Left = _objects[to];
            else
                ((object?[])value)[1] = _objects[to];
            _links[slot] = _objects[to] is null ? (-1, 0) : (to, _ids[to]);
        }
        catch (DanglingReferenceException) when (_deleted[slot])
        {
            _links[slot] = (-1, 0);
            _objects[slot] = null;
        }
        catch (DanglingReferenceException) when (_deleted[to] && _kinds[slot] == ShapeKind.References)
        {
            // A store into an array asks for the type of what is stored.
        }
    }

    private void Follow(int slot)
    {
        LastOperation = $"follow slot {slot} ({_kinds[slot]}, deleted {_deleted[slot]})";
        if (_objects[slot] is not { } value || _kinds[slot] is not (ShapeKind.Node or ShapeKind.References))
            return;
        (int to, int id) = _links[slot];
        try
        {
            object? link = _kinds[slot] == ShapeKind.Node ? ((ModelNode)value).Left : ((object?[])value)[1];
            if (to >= 0 && _ids[to] == id && _objects[to] is { } other)
            {
                if (!ReferenceEquals(link, other))
                    throw new ContractException("a link leads elsewhere");
                LastOperation = $"use slot {to} ({_kinds[to]}, deleted {_deleted[to]}) by a link of {slot}";
                try
                {
                    if (!ModelShapes.IsRight(_kinds[to], link!, _ids[to], _versions[to]))
                        throw new ContractException($"the object {id} holds something else");
                }
                catch (DanglingReferenceException) when (_deleted[to])
                {
                }
            }
            else if (to < 0 && link is not null)
            {
                throw new ContractException("a link that was never made");
            }
        }
        catch (DanglingReferenceException) when (_deleted[slot])
        {
        }
    }

    private void Lock(int slot)
    {
        LastOperation = $"lock slot {slot} ({_kinds[slot]}, deleted {_deleted[slot]})";
        if (_objects[slot] is not { } value)
            return;
        try
        {
            int hash = RuntimeHelpers.GetHashCode(value);
            if (_hashes[slot] != 0 && _hashes[slot] != hash)
                throw new ContractException("the hash code changed");
            _hashes[slot] = hash;
            lock (value)
            {
                if (!Monitor.IsEntered(value))
                    throw new ContractException("not locked");
            }
        }
        catch (DanglingReferenceException) when (_deleted[slot])
        {
        }
    }

    // A span lives in registers and on the stack while other objects are made, deleted and moved.
    private void Span(int slot)
    {
        LastOperation = $"span of slot {slot} ({_kinds[slot]}, deleted {_deleted[slot]})";
        if (_objects[slot] is not { } value || _kinds[slot] is not (ShapeKind.Bytes or ShapeKind.Large))
            return;
        Span<byte> part;
        try
        {
            part = ModelShapes.BytesOf(value)[1..^1];
        }
        catch (DanglingReferenceException) when (_deleted[slot])
        {
            return;
        }
        for (int i = _random.Next(8); i >= 0; i--)
        {
            int other = _random.Next(_objects.Length);
            if (other == slot)
                continue;
            Create(other);
            Use(_random.Next(_objects.Length));
        }
        try
        {
            LastOperation = $"use of a span of slot {slot} ({_kinds[slot]}, deleted {_deleted[slot]})";
            if (part.ContainsAnyExcept(ModelShapes.ByteOf(_ids[slot], _versions[slot])))
                throw new ContractException($"a span of the object {_ids[slot]} holds something else");
            if (_deleted[slot])
                return;
            _versions[slot]++;
            byte next = ModelShapes.ByteOf(_ids[slot], _versions[slot]);
            ModelShapes.BytesOf(value)[0] = ModelShapes.BytesOf(value)[^1] = next;
            part.Fill(next);
        }
        catch (DanglingReferenceException) when (_deleted[slot])
        {
        }
    }

    private void Rare()
    {
        int draw = _random.Next(64);
        LastOperation = "collect";
        if (draw % 8 == 0)
            GC.Collect();
        if (draw == 0)
        {
            LastOperation = "verify";
            Heap.Verify();
        }
        if (draw % 16 == 1)
        {
            // Many deaths at once: whole blocks go.
            LastOperation = "delete a range";
            int from = _random.Next(_objects.Length);
            for (int slot = from; slot < Math.Min(_objects.Length, from + 1_000); slot++)
            {
                if (_objects[slot] is not null && !_deleted[slot])
                    Delete(slot);
            }
        }
    }
}
