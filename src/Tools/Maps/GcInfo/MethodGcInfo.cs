namespace Freehold.Maps.GcInfo;

/// <summary>The decoded reference map of one method.</summary>
public sealed class MethodGcInfo
{
    /// <summary>Bytes of code, funclets included.</summary>
    public required int CodeLength { get; init; }

    public required bool HasSlimHeader { get; init; }

    /// <summary>The register that frame-relative slots count from (x86 number), or -1: slots count from rsp.</summary>
    public required int StackBaseRegister { get; init; }

    public required bool HasReversePInvokeFrame { get; init; }

    /// <summary>Return addresses at which a partially interruptible method has a map.</summary>
    public required IReadOnlyList<int> SafePoints { get; init; }

    /// <summary>Where every instruction has a map; ascending, apart from each other.</summary>
    public required IReadOnlyList<CodeRange> Ranges { get; init; }

    /// <summary>Registers, tracked stack slots, untracked stack slots, in this order.</summary>
    public required IReadOnlyList<GcSlot> Slots { get; init; }

    /// <summary>Per tracked slot, the positions (counted along <see cref="Ranges"/> laid end to end) at which its state flips; it starts dead.</summary>
    public required IReadOnlyList<IReadOnlyList<int>> Flips { get; init; }

    public int InterruptibleLength => Ranges.Sum(r => r.Length);

    public bool IsInterruptible(int offset) => PositionOf(offset) >= 0;

    /// <summary>The slots that hold a reference just before the instruction at <paramref name="offset"/>, or null outside the ranges.</summary>
    public IReadOnlyList<GcSlot>? LiveSlots(int offset)
    {
        int position = PositionOf(offset);
        if (position < 0)
        {
            return null;
        }

        List<GcSlot> live = [];
        for (int i = 0; i < Slots.Count; i++)
        {
            if (Slots[i].Untracked || (Flips[i].Count(f => f <= position) & 1) != 0)
            {
                live.Add(Slots[i]);
            }
        }

        return live;
    }

    private int PositionOf(int offset)
    {
        int before = 0;
        foreach (CodeRange range in Ranges)
        {
            if (range.Contains(offset))
            {
                return before + offset - range.Start;
            }

            before += range.Length;
        }

        return -1;
    }
}
