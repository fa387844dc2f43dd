using System.Runtime.CompilerServices;

namespace Freehold.Benchmarks.RandomGraph;

/// <summary>A vertex with a payload. Those that it leads to, and those that lead to it, refer to it.</summary>
internal sealed class Vertex(long stamp, Edge[] incoming)
{
    public const int OutDegree = 4;

    /// <summary>Where the edges to this vertex come from.</summary>
    public readonly Edge[] Incoming = incoming;

    /// <summary>Where its own edges lead.</summary>
    public Targets Outgoing;

    public Words Payload = new(stamp);

    /// <summary>Which vertex this is, of all that were made.</summary>
    public long Stamp => Payload[0];

    public bool IsIntact => Payload[^1] == ~Payload[0];

    [InlineArray(OutDegree)]
    internal struct Targets
    {
        private Edge _first;
    }

    [InlineArray(4)]
    internal struct Words
    {
        private long _first;

        public Words(long stamp)
        {
            this[0] = stamp;
            this[^1] = ~stamp;
        }
    }
}

/// <summary>A reference in a struct: storing it needs no check of the array's type, on either heap.</summary>
internal struct Edge
{
    public Vertex? Vertex;
}
