using Freehold.Maps.GcInfo;
using Xunit;

namespace Freehold.Maps.Tests;

/// <summary>GC info of .NET 9.</summary>
public sealed class GcInfoVersion3Tests() : GcInfoDecoderTests(3);

/// <summary>GC info of .NET 10.</summary>
public sealed class GcInfoVersion4Tests() : GcInfoDecoderTests(4);

/// <summary>Streams written field by field, in the order of the table beside the decoder.</summary>
public abstract class GcInfoDecoderTests(int version)
{
    private static readonly GcSlot s_rdi = new(SlotBase.Register, 7, false, false, false);
    private static readonly GcSlot s_rbxInterior = new(SlotBase.Register, 3, true, false, false);

    private int Version => version;

    // The return kind, which version 4 has no more.
    private int SlimKind => version < 4 ? 2 : 0;

    private int FatKind => version < 4 ? 4 : 0;

    [Theory]
    [InlineData(true, 5)]
    [InlineData(false, -1)]
    public void SlimHeader(bool hasFrame, int stackBase)
    {
        BitWriter w = new BitWriter().Bit(false).Bit(hasFrame).Bits(SlimKind, version < 4 ? 1u : 0).Var(8, 300).Var(2, 2)
            .Bits(9, 17).Bits(9, 299)
            .Bit(false).Bit(false);
        MethodGcInfo info = GcInfoDecoder.Decode(w.ToArray(), Version);
        Assert.True(info.HasSlimHeader);
        Assert.Equal(stackBase, info.StackBaseRegister);
        Assert.Equal(300, info.CodeLength);
        Assert.Equal([17, 299], info.SafePoints);
        Assert.Empty(info.Ranges);
        Assert.Null(info.LiveSlots(17));
    }

    [Fact]
    public void FatHeaderWithEveryField()
    {
        BitWriter w = new BitWriter().Bit(true).Bits(10, 0x3dd | 0x8).Bits(FatKind, version < 4 ? 3u : 0).Var(8, 100)
            .Var(5, 10).Var(3, 4)             // GS cookie: prolog, epilog
            .VarSigned(6, -5)                 // GS cookie slot
            .VarSigned(6, 9)                  // PSPSym
            .VarSigned(6, -70)                // generics context
            .Var(3, 3 ^ 5)                    // stack base rbx
            .Var(4, 2)                        // edit and continue
            .VarSigned(6, 33)                 // reverse P/Invoke
            .Var(3, 4)                        // outgoing area
            .Var(2, 0).Var(1, 1).Var(6, 11).Var(6, 79)
            .Bit(false).Bit(false);
        MethodGcInfo info = GcInfoDecoder.Decode(w.ToArray(), Version);
        Assert.False(info.HasSlimHeader);
        Assert.Equal(3, info.StackBaseRegister);
        Assert.True(info.HasReversePInvokeFrame);
        Assert.Equal([new CodeRange(11, 91)], info.Ranges);
        Assert.Equal(80, info.InterruptibleLength);
        Assert.False(info.IsInterruptible(10));
        Assert.True(info.IsInterruptible(11));
        Assert.True(info.IsInterruptible(90));
        Assert.False(info.IsInterruptible(91));
        Assert.Empty(info.LiveSlots(50)!);
    }

    [Fact]
    public void GenericsContextWithoutCookieHasItsOwnPrologSize()
    {
        BitWriter w = new BitWriter().Bit(true).Bits(10, 0x20).Bits(FatKind, 0).Var(8, 64)
            .Var(5, 40).VarSigned(6, 2).Var(3, 0).Var(2, 0).Var(1, 1).Var(6, 0).Var(6, 63).Bit(false).Bit(false);
        Assert.Equal([new CodeRange(0, 64)], GcInfoDecoder.Decode(w.ToArray(), Version).Ranges);
    }

    [Fact]
    public void RangesAreDeltas()
    {
        BitWriter w = Fat(1000, (5, 10), (100, 200), (7, 1)).Bit(false).Bit(false);
        Assert.Equal([new CodeRange(5, 15), new CodeRange(115, 315), new CodeRange(322, 323)], GcInfoDecoder.Decode(w.ToArray(), Version).Ranges);
    }

    [Fact]
    public void SlotTable()
    {
        BitWriter w = Fat(64, (0, 64))
            .Bit(true).Var(2, 3)
            .Bit(true).Var(2, 2).Var(1, 2)
            .Var(3, 0).Bits(2, 0)                       // rax
            .Var(2, 2)                                  // rax + 3 = rbx, flags as before
            .Var(2, 11);                                // rbx + 12 = r15
        w.Bits(2, 2).VarSigned(6, -3).Bits(2, 1)        // [frame-24]&
            .Bits(2, 1).VarSigned(6, 4).Bits(2, 0)      // flags were set: in full again, [sp+32]
            .Bits(2, 0).VarSigned(6, -1).Bits(2, 0)     // untracked: [caller.sp-8]
            .Bits(2, 2).Var(4, 3)                       // delta: [frame+16]
            .Var(3, 0);                                 // nothing is ever live
        MethodGcInfo info = GcInfoDecoder.Decode(w.ToArray(), Version);
        Assert.Equal(["rax", "rbx", "r15", "[frame-24]&", "[sp+32]", "[caller.sp-8]", "[frame+16]"], info.Slots.Select(s => s.ToString()));
        Assert.Equal([false, false, false, false, false, true, true], info.Slots.Select(s => s.Untracked));
        Assert.Equal(["[caller.sp-8]", "[frame+16]"], info.LiveSlots(0)!.Select(s => s.ToString()));
    }

    [Fact]
    public void RegistersAfterFlagsAreWrittenInFull()
    {
        BitWriter w = Fat(64, (0, 64)).Bit(true).Var(2, 2).Bit(false).Var(3, 7).Bits(2, 3).Var(3, 3).Bits(2, 1).Var(3, 0);
        Assert.Equal(["rdi&!", "rbx&"], GcInfoDecoder.Decode(w.ToArray(), Version).Slots.Select(s => s.ToString()));
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public void LifetimesWithinOneChunk(bool runLengths)
    {
        // rbx& lives in [10, 20), rdi in [4, 32) and again from 40 to the end; positions skip the hole [24, 44) of the code.
        BitWriter w = TwoRegisters(84, (0, 24), (20, 40));
        BitWriter chunk = new();
        if (runLengths)
        {
            chunk.Bit(true).Bit(false).Var(4, 0).Var(2, 1);    // 0 slots do not occur, then 2 that do
        }
        else
        {
            chunk.Bit(false).Bits(2, 3);
        }

        chunk.Bit(false).Bit(true)
            .Bit(true).Bits(6, 20).Bit(true).Bits(6, 10).Bit(false)
            .Bit(true).Bits(6, 40).Bit(true).Bits(6, 32).Bit(true).Bits(6, 4).Bit(false);
        w.Var(3, 1).Bits(1, 1).Align();
        MethodGcInfo info = GcInfoDecoder.Decode(Append(w, chunk), Version);

        foreach (int offset in Enumerable.Range(0, 84))
        {
            int position = offset < 24 ? offset : offset >= 44 ? offset - 20 : -1;
            List<GcSlot>? expected = position < 0 ? null : [];
            if (position is >= 10 and < 20)
            {
                expected!.Add(s_rbxInterior);
            }

            if (position is >= 4 and < 32 or >= 40)
            {
                expected!.Add(s_rdi);
            }

            Assert.Equal(expected, info.LiveSlots(offset));
        }
    }

    [Fact]
    public void ChunksWithoutAPointerKeepTheStateBefore()
    {
        // Four chunks: 0 nothing stored yet (dead), 1 rdi becomes live at 70, 2 no pointer (still live), 3 only rbx& occurs: rdi is dead.
        BitWriter w = TwoRegisters(256, (0, 256));
        BitWriter first = new BitWriter().Bit(false).Bits(2, 2).Bit(true).Bit(true).Bits(6, 6).Bit(false);
        BitWriter second = new BitWriter().Bit(false).Bits(2, 1).Bit(true).Bit(true).Bits(6, 8).Bit(false);
        w.Var(3, 5).Bits(5, 0).Bits(5, 1).Bits(5, 0).Bits(5, 1 + (uint)first.Length).Align();
        MethodGcInfo info = GcInfoDecoder.Decode(Append(w, first, second), Version);
        Assert.Empty(info.LiveSlots(0)!);
        Assert.Empty(info.LiveSlots(69)!);
        Assert.Equal([s_rdi], info.LiveSlots(70));
        Assert.Equal([s_rdi], info.LiveSlots(191));
        Assert.Empty(info.LiveSlots(192)!);
        Assert.Equal([s_rbxInterior], info.LiveSlots(200));
        Assert.Equal([s_rbxInterior], info.LiveSlots(255));
    }

    [Fact]
    public void DamagedStreamsAreErrors()
    {
        BitWriter whole = TwoRegisters(64, (0, 64)).Var(3, 1).Bits(1, 1).Align();
        BitWriter chunk = new BitWriter().Bit(false).Bits(2, 3).Bits(2, 3).Bit(true).Bits(6, 63).Bit(false).Bit(true).Bits(6, 1).Bit(false);
        byte[] good = Append(whole, chunk);
        GcInfoDecoder.Decode(good, Version);
        for (int length = 0; length < good.Length; length++)
        {
            byte[] cut = good[..length];
            Assert.Throws<FormatException>(() => GcInfoDecoder.Decode(cut, Version));
        }

        Assert.Throws<FormatException>(() => GcInfoDecoder.Decode(Fat(10, (5, 6)).Bit(false).Bit(false).ToArray(), Version));
        Assert.Throws<FormatException>(() => GcInfoDecoder.Decode(Fat(64, (0, 64)).Bit(true).Var(2, 1).Bit(false).Var(3, 16).Bits(2, 0).Var(3, 0).ToArray(), Version));
        Assert.Throws<FormatException>(() => GcInfoDecoder.Decode(Fat(64, (0, 64)).Bit(false).Bit(true).Var(2, 1).Var(1, 0).Bits(2, 3).ToArray(), Version));
    }

    private BitWriter Fat(uint codeLength, params (uint Delta, uint Length)[] ranges)
    {
        BitWriter w = new BitWriter().Bit(true).Bits(10, 0).Bits(FatKind, 0).Var(8, codeLength).Var(3, 0).Var(2, 0).Var(1, (uint)ranges.Length);
        foreach ((uint delta, uint length) in ranges)
        {
            w.Var(6, delta).Var(6, length - 1);
        }

        return w;
    }

    /// <summary>Tracked slots: 0 = rbx, interior; 1 = rdi.</summary>
    private BitWriter TwoRegisters(uint codeLength, params (uint Delta, uint Length)[] ranges) =>
        Fat(codeLength, ranges).Bit(true).Var(2, 2).Bit(false).Var(3, 3).Bits(2, 1).Var(3, 7).Bits(2, 0);

    private static byte[] Append(BitWriter head, params BitWriter[] tails)
    {
        Assert.Equal(0, head.Length % 8);
        BitWriter all = new();
        foreach (BitWriter tail in tails)
        {
            byte[] bytes = tail.ToArray();
            for (int i = 0; i < tail.Length; i++)
            {
                all.Bit(((bytes[i / 8] >> (i % 8)) & 1) != 0);
            }
        }

        return [.. head.ToArray(), .. all.ToArray()];
    }
}
