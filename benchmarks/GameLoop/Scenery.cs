namespace Freehold.Benchmarks.GameLoop;

/// <summary>A part of a sector: a tree of bounding boxes, with a mesh at each node.</summary>
internal sealed class Scenery
{
    private const int Fanout = 4;

    private readonly Scenery[] _parts;
    private readonly int[] _mesh;
    private readonly int _left, _top, _size;

    private Scenery(int left, int top, int size, int levels, ref Random64 random)
    {
        (_left, _top, _size) = (left, top, size);
        _mesh = new int[16 + random.Next(64)];
        _mesh.AsSpan().Fill(random.Next(256));
        _parts = new Scenery[levels > 1 ? Fanout : 0];
        for (var i = 0; i < _parts.Length; i++)
        {
            _parts[i] = new Scenery(left + (i % 2 * (size / 2)), top + (i / 2 * (size / 2)), size / 2, levels - 1, ref random);
        }
    }

    public static Scenery Load(int levels, int size, ulong seed)
    {
        var random = new Random64(seed);
        return new Scenery(0, 0, size, levels, ref random);
    }

    /// <summary>What stands at a point of the sector.</summary>
    public int HeightAt(int x, int y)
    {
        var height = 0;
        for (var part = this; ;)
        {
            height += part._mesh[(x + y) % part._mesh.Length];
            if (part._parts.Length == 0)
            {
                return height;
            }

            var half = part._size / 2;
            part = part._parts[(x >= part._left + half ? 1 : 0) + (y >= part._top + half ? 2 : 0)];
        }
    }

    /// <summary>Deletes it with its parts.</summary>
    public void Unload()
    {
        foreach (var part in _parts)
        {
            part.Unload();
        }

        Heap.Delete(_parts);
        Heap.Delete(_mesh);
        Heap.Delete(this);
    }
}
