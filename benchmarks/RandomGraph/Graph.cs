namespace Freehold.Benchmarks.RandomGraph;

/// <summary>A directed graph of fixed shape whose vertices are replaced. native.cpp has the same in C++.</summary>
internal sealed class Graph
{
    private readonly Edge[] _vertices;
    private long _stamp;

    /// <summary>Makes so many vertices, each with edges to random others.</summary>
    public Graph(int vertices, ulong seed)
    {
        _vertices = new Edge[vertices];
        // The same edges twice: counted, so that each array has its size, then made.
        var missing = new int[vertices];
        var random = new Random64(seed);
        for (var i = 0; i < vertices; i++)
        {
            for (var j = 0; j < Vertex.OutDegree; j++)
            {
                missing[Target(ref random, i)]++;
            }
        }

        for (var i = 0; i < vertices; i++)
        {
            _vertices[i].Vertex = new Vertex(_stamp++, new Edge[missing[i]]);
        }

        random = new Random64(seed);
        for (var i = 0; i < vertices; i++)
        {
            var source = _vertices[i].Vertex!;
            for (var j = 0; j < Vertex.OutDegree; j++)
            {
                var number = Target(ref random, i);
                var target = _vertices[number].Vertex!;
                source.Outgoing[j].Vertex = target;
                target.Incoming[--missing[number]].Vertex = source;
            }
        }

        if (Heap.IsManual)
        {
            Heap.Delete(missing);
        }
    }

    /// <summary>A value that depends on each vertex that was replaced and on its neighbours then: the same on every heap.</summary>
    public ulong Checksum { get; private set; }

    /// <summary>Puts a new vertex in the place of one, and patches all that refer to it.</summary>
    public void Replace(int number)
    {
        var old = _vertices[number].Vertex!;
        Note(old);
        var incoming = new Edge[old.Incoming.Length];
        var made = new Vertex(_stamp++, incoming);
        for (var i = 0; i < Vertex.OutDegree; i++)
        {
            var target = old.Outgoing[i].Vertex!;
            made.Outgoing[i].Vertex = target;
            Checksum += (ulong)target.Stamp;
            Patch(target.Incoming, old, made);
        }

        for (var i = 0; i < incoming.Length; i++)
        {
            var source = old.Incoming[i].Vertex!;
            incoming[i].Vertex = source;
            Checksum += (ulong)source.Stamp;
            Patch(source.Outgoing, old, made);
        }

        _vertices[number].Vertex = made;
        if (Heap.IsManual)
        {
            Heap.Delete(old.Incoming);
            Heap.Delete(old);
        }
    }

    /// <summary>Visits every vertex; an exception where an edge has only one end.</summary>
    public void Check()
    {
        foreach (ref var edge in _vertices.AsSpan())
        {
            var vertex = edge.Vertex!;
            Note(vertex);
            foreach (var outgoing in vertex.Outgoing)
            {
                Checksum = (Checksum * 31) + (ulong)outgoing.Vertex!.Stamp;
                var ends = 0;
                foreach (var incoming in outgoing.Vertex.Incoming)
                {
                    ends += incoming.Vertex == vertex ? 1 : 0;
                }

                if (ends == 0)
                {
                    throw new InvalidOperationException($"The vertex {vertex.Stamp} leads to {outgoing.Vertex.Stamp}, which does not know it.");
                }
            }
        }
    }

    private void Note(Vertex vertex)
    {
        if (!vertex.IsIntact)
        {
            throw new InvalidOperationException("A vertex does not hold what was written.");
        }

        Checksum = (Checksum * 31) + (ulong)vertex.Stamp;
    }

    private static void Patch(Span<Edge> edges, Vertex old, Vertex made)
    {
        foreach (ref var edge in edges)
        {
            if (edge.Vertex == old)
            {
                edge.Vertex = made;
                return;
            }
        }

        throw new InvalidOperationException($"A neighbour of the vertex {old.Stamp} does not know it.");
    }

    /// <summary>A random vertex that is not <paramref name="source"/>.</summary>
    private int Target(ref Random64 random, int source)
    {
        var number = random.Next(_vertices.Length - 1);
        return number >= source ? number + 1 : number;
    }
}
