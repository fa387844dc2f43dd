using System.Buffers.Binary;

namespace Freehold.Maps.Elf;

/// <summary>Reads the frame entries of a program, the way the runtime finds the method of an address.</summary>
/// <remarks>
/// <code>
/// .eh_frame_hdr  0 version (1) | 1 encoding of the pointer | 2 of the count | 3 of the table | pointer | count |
///                table: {i32 code, i32 FDE} relative to the start of .eh_frame_hdr (encoding 0x3b), sorted by code
/// .eh_frame      u32 length (0 = end) | u32 id: 0 = CIE, else distance back from this word to the CIE |
///                CIE: version u8, augmentation string, uleb code align, sleb data align, return register, 'z' data
///                FDE: start, length (both in the CIE's 'R' encoding), uleb augmentation length, LSDA (in the 'L' encoding)
/// </code>
/// Only the encodings that linkers write for position-independent x86-64 programs are accepted, others are an error.
/// </remarks>
public static class FrameTable
{
    private const byte Omitted = 0xff;
    private const byte TableEncoding = 0x3b;  // datarel | sdata4
    private const byte CountEncoding = 0x03;  // udata4

    public static IReadOnlyList<FrameEntry> Read(ElfFile file, ElfSection code)
    {
        if (file.FindSection(".eh_frame_hdr") is not { } header || file.FindSection(".eh_frame") is not { } frames)
        {
            throw new InputException($"'{file.Path}' has no .eh_frame_hdr: without it no method can be found, by this tool or by the runtime.");
        }

        if (header.Type == ElfSection.TypeNoBits || code.Type == ElfSection.TypeNoBits)
        {
            throw new InputException($"'{file.Path}' holds only debug information. Name the executable itself; its .dbg file is found beside it.");
        }

        ReadOnlySpan<byte> table = file.Content(header);
        if (table.Length < 12 || table[0] != 1 || table[2] != CountEncoding || table[3] != TableEncoding)
        {
            throw new InputException($"'{file.Path}' has an .eh_frame_hdr of an unknown form.");
        }

        uint count = BinaryPrimitives.ReadUInt32LittleEndian(table[8..]);
        if (count > (table.Length - 12) / 8)
        {
            throw new InputException($"'{file.Path}' is damaged: .eh_frame_hdr announces {count} entries and is too short for them.");
        }

        ReadOnlySpan<byte> frameBytes = file.Content(frames);
        List<FrameEntry> entries = [];
        for (int i = 0; i < count; i++)
        {
            ulong start = header.Address + (ulong)BinaryPrimitives.ReadInt32LittleEndian(table[(12 + i * 8)..]);
            if (!code.Contains(start))
            {
                continue;
            }

            ulong entry = header.Address + (ulong)BinaryPrimitives.ReadInt32LittleEndian(table[(16 + i * 8)..]);
            if (!frames.Contains(entry))
            {
                throw new InputException($"'{file.Path}' is damaged: the frame entry of 0x{start:x} lies outside .eh_frame.");
            }

            try
            {
                entries.Add(ReadEntry(frameBytes, frames.Address, (int)(entry - frames.Address)));
            }
            catch (ArgumentOutOfRangeException)
            {
                throw new InputException($"'{file.Path}' is damaged: the frame entry of 0x{start:x} is cut off.");
            }
        }

        return entries;
    }

    private static FrameEntry ReadEntry(ReadOnlySpan<byte> frames, ulong address, int at)
    {
        int cie = at + 4 - BinaryPrimitives.ReadInt32LittleEndian(frames[(at + 4)..]);
        (byte pointerEncoding, byte lsdaEncoding) = ReadEncodings(frames, cie);
        int cursor = at + 8;
        ulong start = ReadPointer(frames, ref cursor, address, pointerEncoding);
        ulong length = ReadPointer(frames, ref cursor, address, (byte)(pointerEncoding & 0x0f));
        ulong lsda = 0;
        ulong augmentation = ReadUleb(frames, ref cursor);
        if (lsdaEncoding != Omitted && augmentation != 0)
        {
            lsda = ReadPointer(frames, ref cursor, address, lsdaEncoding);
        }

        return new FrameEntry(start, start + length, lsda);
    }

    private static (byte Pointer, byte Lsda) ReadEncodings(ReadOnlySpan<byte> frames, int cie)
    {
        int cursor = cie + 9;
        int nameStart = cursor;
        while (frames.Slice(cursor, 1)[0] != 0)
        {
            cursor++;
        }

        ReadOnlySpan<byte> augmentation = frames[nameStart..cursor];
        cursor++;
        ReadUleb(frames, ref cursor);
        ReadUleb(frames, ref cursor);
        ReadUleb(frames, ref cursor);
        byte pointer = 0;
        byte lsda = Omitted;
        foreach (byte letter in augmentation)
        {
            switch (letter)
            {
                case (byte)'z':
                    ReadUleb(frames, ref cursor);
                    break;
                case (byte)'L':
                    lsda = frames.Slice(cursor++, 1)[0];
                    break;
                case (byte)'R':
                    pointer = frames.Slice(cursor++, 1)[0];
                    break;
                case (byte)'P':
                    byte encoding = frames.Slice(cursor++, 1)[0];
                    ReadPointer(frames, ref cursor, 0, (byte)(encoding & 0x0f));
                    break;
                case (byte)'S':
                    break;
                default:
                    throw new InputException($"Unknown augmentation '{(char)letter}' in .eh_frame.");
            }
        }

        return (pointer, lsda);
    }

    private static ulong ReadPointer(ReadOnlySpan<byte> frames, ref int cursor, ulong address, byte encoding)
    {
        ulong place = address + (ulong)cursor;
        ulong value;
        switch (encoding & 0x0f)
        {
            case 0x00 or 0x04 or 0x0c:
                value = BinaryPrimitives.ReadUInt64LittleEndian(frames.Slice(cursor, 8));
                cursor += 8;
                break;
            case 0x03:
                value = BinaryPrimitives.ReadUInt32LittleEndian(frames.Slice(cursor, 4));
                cursor += 4;
                break;
            case 0x0b:
                value = (ulong)BinaryPrimitives.ReadInt32LittleEndian(frames.Slice(cursor, 4));
                cursor += 4;
                break;
            default:
                throw new InputException($"Unknown pointer encoding 0x{encoding:x2} in .eh_frame.");
        }

        return (encoding & 0x70) switch
        {
            0x00 => value,
            0x10 => value == 0 ? 0 : place + value,
            _ => throw new InputException($"Unknown pointer encoding 0x{encoding:x2} in .eh_frame."),
        };
    }

    private static ulong ReadUleb(ReadOnlySpan<byte> frames, ref int cursor)
    {
        ulong value = 0;
        for (int shift = 0; ; shift += 7)
        {
            byte part = frames.Slice(cursor++, 1)[0];
            value |= (ulong)(part & 0x7f) << Math.Min(shift, 63);
            if ((part & 0x80) == 0)
            {
                return value;
            }
        }
    }
}
