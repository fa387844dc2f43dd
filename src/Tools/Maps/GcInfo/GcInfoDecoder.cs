using System.Numerics;

namespace Freehold.Maps.GcInfo;

/// <summary>
/// Decodes the GC info of NativeAOT on x86-64: version 3, that of .NET 9, and version 4, that of .NET 10. Owns the knowledge of the bit format; a stream that does not
/// fit it ends in a <see cref="FormatException"/>, never in a guess.
/// </summary>
/// <remarks>
/// VL(n), VLS(n): see <see cref="BitReader"/>. GcInfoDecoderTests writes streams field by field in this order and reads them back.
/// <code>
/// HEADER
///   1            0 slim, 1 fat
///   slim: 1      stack base is rbp;  version 3: 2 return kind
///   fat:  10     flags: 0x001 vararg, 0x004 GS cookie, 0x008 PSPSym, 0x030 generics context (0x10 MT, 0x20 MD, 0x30 this),
///                0x040 stack base register, 0x080 report only the leaf, 0x100 edit and continue, 0x200 reverse P/Invoke frame
///         4      return kind (version 3)
///   VL(8)        code length
///   fat only, each when its flag is set:
///         GS cookie: VL(5) prolog size - 1, VL(3) epilog size;   else generics context: VL(5) prolog size - 1
///         GS cookie VLS(6) slot | PSPSym VLS(6) slot | generics context VLS(6) slot | VL(3) stack base register ^ 5 |
///         edit and continue VL(4) | reverse P/Invoke VLS(6) slot
///   fat:  VL(3)  outgoing argument area / 8
///   VL(2)        number of safe points
///   fat:  VL(1)  number of interruptible ranges
/// POINTS AND RANGES
///   per safe point  ceil(log2(code length)) bits
///   per range       VL(6) start - end of the range before;  VL(6) length - 1
/// SLOT TABLE
///   1, then VL(2)               has registers, how many
///   1, then VL(2) and VL(1)     has stack slots, how many tracked and untracked
///   registers    first: VL(3) number, 2 flags.     Next: flags before = 0: VL(2) delta - 1, same flags; else as the first
///   tracked      first: 2 base, VLS(6) offset / 8, 2 flags.  Next: 2 base, then flags before = 0: VL(4) delta; else VLS(6), 2 flags
///   untracked    the same, from the start
///   flags 1 interior, 2 pinned;  base 0 caller's SP, 1 SP, 2 frame register
/// LIFETIMES over the ranges laid end to end, in chunks of 64 positions (only with ranges and tracked slots)
///   VL(3)        P = bits per chunk pointer; 0: nothing is ever live
///   P per chunk  0: as at the end of the chunk before; else 1 + bit offset of the chunk from here, rounded up to a byte
///   chunk:       which slots occur: 1 bit, 0: one bit per tracked slot;
///                1: run lengths: 1 bit (0: the first is a skip), first length VL(4) for a skip or VL(2) for a run, then alternating with + 1;
///                   the first length counts slots that do NOT occur, whatever its kind
///                per occurring slot 1 bit: state at the end of the chunk
///                per occurring slot (1, 6 bits offset in the chunk)* 0: its state flips there
/// </code>
/// </remarks>
public static class GcInfoDecoder
{
    internal const int ChunkLength = 64;
    private const int ChunkOffsetBits = 6;
    private const uint FlagGsCookie = 0x004;
    private const uint FlagPspSym = 0x008;
    private const uint FlagGenericsContext = 0x030;
    private const uint FlagStackBase = 0x040;
    private const uint FlagEditAndContinue = 0x100;
    private const uint FlagReversePInvoke = 0x200;
    private const int MaxCodeLength = 1 << 28;
    private const int RegisterRbp = 5;

    public static MethodGcInfo Decode(ReadOnlySpan<byte> bytes, int version)
    {
        bool hasReturnKind = version < 4;
        BitReader reader = new(bytes);
        bool slim = !reader.ReadBit();
        uint flags = 0;
        int stackBase = -1;
        if (slim)
        {
            stackBase = reader.ReadBit() ? RegisterRbp : -1;
            reader.Read(hasReturnKind ? 2 : 0);
        }
        else
        {
            flags = reader.Read(10);
            reader.Read(hasReturnKind ? 4 : 0);
        }

        int codeLength = (int)reader.ReadVarUnsigned(8);
        if (codeLength > MaxCodeLength)
        {
            throw new FormatException($"a code length of {codeLength}");
        }

        if (!slim)
        {
            SkipHeaderFields(ref reader, flags, ref stackBase);
        }

        int safePointCount = (int)reader.ReadVarUnsigned(2);
        int rangeCount = slim ? 0 : (int)reader.ReadVarUnsigned(1);
        if (safePointCount > codeLength || rangeCount > codeLength)
        {
            throw new FormatException($"{safePointCount} safe points and {rangeCount} ranges in {codeLength} bytes of code");
        }

        int[] safePoints = ReadSafePoints(ref reader, safePointCount, codeLength);
        CodeRange[] ranges = ReadRanges(ref reader, rangeCount, codeLength);
        List<GcSlot> slots = ReadSlots(ref reader);
        int tracked = slots.Count(s => !s.Untracked);
        List<int>[] flips = new List<int>[tracked];
        for (int i = 0; i < tracked; i++)
        {
            flips[i] = [];
        }

        if (ranges.Length > 0 && tracked > 0)
        {
            if (safePointCount > 0)
            {
                throw new FormatException("safe points and ranges in one method");
            }

            ReadLifetimes(ref reader, ranges.Sum(r => r.Length), flips);
        }

        return new MethodGcInfo
        {
            CodeLength = codeLength,
            HasSlimHeader = slim,
            StackBaseRegister = stackBase,
            HasReversePInvokeFrame = (flags & FlagReversePInvoke) != 0,
            SafePoints = safePoints,
            Ranges = ranges,
            Slots = slots,
            Flips = flips,
        };
    }

    private static void SkipHeaderFields(ref BitReader reader, uint flags, ref int stackBase)
    {
        if ((flags & FlagGsCookie) != 0)
        {
            reader.ReadVarUnsigned(5);
            reader.ReadVarUnsigned(3);
        }
        else if ((flags & FlagGenericsContext) != 0)
        {
            reader.ReadVarUnsigned(5);
        }

        if ((flags & FlagGsCookie) != 0)
        {
            reader.ReadVarSigned(6);
        }

        if ((flags & FlagPspSym) != 0)
        {
            reader.ReadVarSigned(6);
        }

        if ((flags & FlagGenericsContext) != 0)
        {
            reader.ReadVarSigned(6);
        }

        if ((flags & FlagStackBase) != 0)
        {
            uint register = reader.ReadVarUnsigned(3) ^ RegisterRbp;
            stackBase = GcSlot.IsRegister(register) ? (int)register : throw new FormatException($"register {register}");
        }

        if ((flags & FlagEditAndContinue) != 0)
        {
            reader.ReadVarUnsigned(4);
        }

        if ((flags & FlagReversePInvoke) != 0)
        {
            reader.ReadVarSigned(6);
        }

        reader.ReadVarUnsigned(3);
    }

    private static int[] ReadSafePoints(ref BitReader reader, int count, int codeLength)
    {
        int bits = codeLength <= 1 ? 0 : BitOperations.Log2((uint)codeLength - 1) + 1;
        int[] points = new int[count];
        for (int i = 0; i < count; i++)
        {
            points[i] = (int)reader.Read(bits);
        }

        return points;
    }

    private static CodeRange[] ReadRanges(ref BitReader reader, int count, int codeLength)
    {
        CodeRange[] ranges = new CodeRange[count];
        long end = 0;
        for (int i = 0; i < count; i++)
        {
            long start = end + reader.ReadVarUnsigned(6);
            end = start + reader.ReadVarUnsigned(6) + 1;
            if (end > codeLength)
            {
                throw new FormatException($"an interruptible range up to {end} in {codeLength} bytes of code");
            }

            ranges[i] = new CodeRange((int)start, (int)end);
        }

        return ranges;
    }

    private static List<GcSlot> ReadSlots(ref BitReader reader)
    {
        uint registers = reader.ReadBit() ? reader.ReadVarUnsigned(2) : 0;
        uint tracked = 0;
        uint untracked = 0;
        if (reader.ReadBit())
        {
            tracked = reader.ReadVarUnsigned(2);
            untracked = reader.ReadVarUnsigned(1);
        }

        List<GcSlot> slots = [];
        uint number = 0;
        uint flags = 0;
        for (uint i = 0; i < registers; i++)
        {
            if (i == 0 || flags != 0)
            {
                number = reader.ReadVarUnsigned(3);
                flags = reader.Read(2);
            }
            else
            {
                number += reader.ReadVarUnsigned(2) + 1;
            }

            if (!GcSlot.IsRegister(number))
            {
                throw new FormatException($"register {number}");
            }

            slots.Add(new GcSlot(SlotBase.Register, (int)number, (flags & 1) != 0, (flags & 2) != 0, Untracked: false));
        }

        ReadStackSlots(ref reader, slots, tracked, isUntracked: false);
        ReadStackSlots(ref reader, slots, untracked, isUntracked: true);
        return slots;
    }

    private static void ReadStackSlots(ref BitReader reader, List<GcSlot> slots, uint count, bool isUntracked)
    {
        int offset = 0;
        uint flags = 0;
        for (uint i = 0; i < count; i++)
        {
            SlotBase slotBase = (SlotBase)reader.Read(2);
            if (slotBase == SlotBase.Register)
            {
                throw new FormatException("stack base 3");
            }

            if (i == 0 || flags != 0)
            {
                offset = reader.ReadVarSigned(6);
                flags = reader.Read(2);
            }
            else
            {
                offset += (int)reader.ReadVarUnsigned(4);
            }

            slots.Add(new GcSlot(slotBase, offset * 8, (flags & 1) != 0, (flags & 2) != 0, isUntracked));
        }
    }

    private static void ReadLifetimes(ref BitReader reader, int length, List<int>[] flips)
    {
        int pointerBits = (int)reader.ReadVarUnsigned(3);
        if (pointerBits == 0)
        {
            return;
        }

        uint[] pointers = new uint[(length + ChunkLength - 1) / ChunkLength];
        for (int i = 0; i < pointers.Length; i++)
        {
            pointers[i] = reader.Read(pointerBits);
        }

        reader.Align(8);
        int chunks = reader.Position;
        bool[] state = new bool[flips.Length];
        for (int chunk = 0; chunk < pointers.Length; chunk++)
        {
            if (pointers[chunk] == 0)
            {
                continue;
            }

            reader.Position = chunks + (int)pointers[chunk] - 1;
            ReadChunk(ref reader, chunk * ChunkLength, Math.Min(ChunkLength, length - chunk * ChunkLength), state, flips);
        }
    }

    private static void ReadChunk(ref BitReader reader, int start, int length, bool[] state, List<int>[] flips)
    {
        List<int> occurring = ReadOccurringSlots(ref reader, state.Length);
        bool[] final = new bool[state.Length];
        foreach (int slot in occurring)
        {
            final[slot] = reader.ReadBit();
        }

        HashSet<int> seen = [];
        foreach (int slot in occurring)
        {
            List<int> changes = [];
            seen.Add(slot);
            while (reader.ReadBit())
            {
                int offset = (int)reader.Read(ChunkOffsetBits);
                if (offset >= length)
                {
                    throw new FormatException($"a change at {offset} of a chunk of {length}");
                }

                changes.Add(offset);
            }

            changes.Sort();
            bool atStart = final[slot] ^ ((changes.Count & 1) != 0);
            if (atStart != state[slot])
            {
                flips[slot].Add(start);
            }

            flips[slot].AddRange(changes.Select(c => start + c));
            state[slot] = final[slot];
        }

        for (int slot = 0; slot < state.Length; slot++)
        {
            if (state[slot] && !seen.Contains(slot))
            {
                flips[slot].Add(start);
                state[slot] = false;
            }
        }
    }

    private static List<int> ReadOccurringSlots(ref BitReader reader, int count)
    {
        List<int> occurring = [];
        if (!reader.ReadBit())
        {
            for (int slot = 0; slot < count; slot++)
            {
                if (reader.ReadBit())
                {
                    occurring.Add(slot);
                }
            }

            return occurring;
        }

        bool skip = !reader.ReadBit();
        bool occurs = false;
        long next = reader.ReadVarUnsigned(skip ? 4 : 2);
        while (next < count)
        {
            skip = !skip;
            occurs = !occurs;
            long group = reader.ReadVarUnsigned(skip ? 4 : 2) + 1L;
            if (next + group > count)
            {
                throw new FormatException($"{next + group} of {count} slots");
            }

            for (long i = 0; occurs && i < group; i++)
            {
                occurring.Add((int)(next + i));
            }

            next += group;
        }

        return next == count ? occurring : throw new FormatException($"{next} of {count} slots");
    }
}
