using System;
using System.Buffers.Binary;
using System.Collections.Generic;
using System.IO;
using System.Text;

namespace Freehold.Tasks;

/// <summary>Copies a static library without some of its members, so that a linker cannot find what they define.</summary>
/// <remarks>
/// <para>GNU ar format, every header 60 bytes, every member padded to an even offset:</para>
/// <code>
/// "!&lt;arch&gt;\n"
/// "/"   the symbol table: u32 count (big endian), count × u32 offset of the defining member's header, count names, each ended by 0
/// "//"  the names longer than 15 characters, each ended by "/\n"; a header says "/123" for the one at offset 123
/// members
/// header: name 16, time 12, owner 6, group 6, mode 8, size 10 (decimal), "`\n"
/// </code>
/// The table of long names is kept whole, so the headers that point into it stay right; only offsets in the symbol table change.
/// </remarks>
internal static class ArchiveFilter
{
    private const int HeaderSize = 60;
    private const int SizeOffset = 48;
    private static readonly byte[] s_magic = "!<arch>\n"u8.ToArray();

    /// <summary>Writes <paramref name="source"/> without <paramref name="removed"/> to <paramref name="target"/>.</summary>
    /// <exception cref="FreeholdException">FH0008: a member to remove is not there, or the file is not an archive.</exception>
    public static void Copy(string source, string target, IReadOnlyCollection<string> removed)
    {
        byte[] archive = File.ReadAllBytes(source);
        if (!archive.AsSpan().StartsWith(s_magic))
        {
            throw Malformed(source, "it has no archive header");
        }

        List<Member> members = ReadMembers(source, archive);
        var kept = new List<Member>();
        var missing = new HashSet<string>(removed, StringComparer.Ordinal);
        foreach (Member member in members)
        {
            if (!missing.Remove(member.Name))
            {
                kept.Add(member);
            }
        }

        if (missing.Count != 0)
        {
            throw Malformed(source, $"it has no member '{string.Join("', '", missing)}'");
        }

        File.WriteAllBytes(target, Assemble(source, archive, kept));
    }

    private static List<Member> ReadMembers(string source, byte[] archive)
    {
        var members = new List<Member>();
        ReadOnlySpan<byte> longNames = default;
        for (int offset = s_magic.Length; offset < archive.Length;)
        {
            ReadOnlySpan<byte> header = archive.AsSpan(offset, HeaderSize);
            string name = Encoding.ASCII.GetString(header[..16]).TrimEnd();
            if (!int.TryParse(Encoding.ASCII.GetString(header.Slice(SizeOffset, 10)), out int size) || offset + HeaderSize + size > archive.Length)
            {
                throw Malformed(source, $"the header at {offset} is damaged");
            }

            if (name == "//")
            {
                longNames = archive.AsSpan(offset + HeaderSize, size);
            }
            else if (name.Length > 1 && name[0] == '/' && char.IsAsciiDigit(name[1]))
            {
                ReadOnlySpan<byte> rest = longNames[int.Parse(name.AsSpan(1))..];
                name = Encoding.ASCII.GetString(rest[..rest.IndexOf((byte)'\n')]).TrimEnd('/');
            }
            else if (name.Length > 1)
            {
                name = name.TrimEnd('/');
            }

            int length = HeaderSize + size + (size & 1);
            members.Add(new Member(name, offset, Math.Min(length, archive.Length - offset), size));
            offset += length;
        }

        return members;
    }

    private static byte[] Assemble(string source, byte[] archive, List<Member> members)
    {
        if (members.Count == 0 || members[0].Name != "/")
        {
            throw Malformed(source, "its first member is not the symbol table");
        }

        ReadOnlySpan<byte> oldTable = archive.AsSpan(members[0].Offset + HeaderSize, members[0].Size);
        int count = (int)BinaryPrimitives.ReadUInt32BigEndian(oldTable);
        var offsets = new HashSet<uint>();
        foreach (Member member in members)
        {
            offsets.Add((uint)member.Offset);
        }

        // The size of the table decides where the members lie, so the symbols that stay come first.
        var symbols = new List<(uint OldOffset, byte[] Name)>();
        ReadOnlySpan<byte> names = oldTable[(4 + (4 * count))..];
        int namesLength = 0;
        for (int i = 0; i < count; i++)
        {
            uint defining = BinaryPrimitives.ReadUInt32BigEndian(oldTable[(4 + (4 * i))..]);
            int end = names.IndexOf((byte)0) + 1;
            if (offsets.Contains(defining))
            {
                symbols.Add((defining, names[..end].ToArray()));
                namesLength += end;
            }

            names = names[end..];
        }

        int tableSize = 4 + (4 * symbols.Count) + namesLength;
        tableSize += tableSize & 1;
        var newOffsets = new Dictionary<uint, uint>();
        int position = s_magic.Length + HeaderSize + tableSize;
        for (int i = 1; i < members.Count; i++)
        {
            newOffsets.Add((uint)members[i].Offset, (uint)position);
            position += members[i].Length;
        }

        byte[] result = new byte[position];
        s_magic.CopyTo(result, 0);
        Span<byte> header = result.AsSpan(s_magic.Length, HeaderSize);
        archive.AsSpan(members[0].Offset, HeaderSize).CopyTo(header);
        Encoding.ASCII.GetBytes(tableSize.ToString().PadRight(10)).CopyTo(header[SizeOffset..]);

        Span<byte> table = result.AsSpan(s_magic.Length + HeaderSize, tableSize);
        BinaryPrimitives.WriteUInt32BigEndian(table, (uint)symbols.Count);
        int nameAt = 4 + (4 * symbols.Count);
        for (int i = 0; i < symbols.Count; i++)
        {
            BinaryPrimitives.WriteUInt32BigEndian(table[(4 + (4 * i))..], newOffsets[symbols[i].OldOffset]);
            symbols[i].Name.CopyTo(table[nameAt..]);
            nameAt += symbols[i].Name.Length;
        }

        for (int i = 1; i < members.Count; i++)
        {
            archive.AsSpan(members[i].Offset, members[i].Length).CopyTo(result.AsSpan((int)newOffsets[(uint)members[i].Offset]));
        }

        return result;
    }

    private static FreeholdException Malformed(string source, string what) =>
        new("FH0008", $"'{source}' is not the archive that Freehold was made for: {what}. Delete the ILCompiler package from NuGet's cache and restore again.");

    /// <param name="Name">Full name.</param>
    /// <param name="Offset">Of the header, in the source.</param>
    /// <param name="Length">Header, content and padding.</param>
    /// <param name="Size">Content alone.</param>
    private readonly record struct Member(string Name, int Offset, int Length, int Size);
}
