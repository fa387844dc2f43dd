using Freehold.Maps.Elf;
using Freehold.Maps.GcInfo;

namespace Freehold.Maps.Analysis;

/// <summary>A managed method as the runtime sees it: its own frame first, then its funclets (handlers and filters), and its map.</summary>
public sealed record ManagedMethod(ulong Start, string Name, IReadOnlyList<FrameEntry> Frames, MethodGcInfo GcInfo)
{
    public int CodeBytes => Frames.Sum(f => (int)(f.End - f.Start));
}
