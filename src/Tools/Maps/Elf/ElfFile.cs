using System.Buffers.Binary;
using System.Text;

namespace Freehold.Maps.Elf;

/// <summary>
/// A 64-bit little-endian ELF file for x86-64, read as a whole. Owns the bytes and the section table.
/// Invariant: every section that occupies the file lies inside it; all reads are bounds-checked and end in an
/// <see cref="InputException"/>, whatever the file contains.
/// </summary>
/// <remarks>
/// <code>
/// header   0 7f 45 4c 46 | 4 class (2 = 64 bit) | 5 data (1 = little endian) | 18 machine u16 (0x3e) | 40 section table u64 |
///          58 entry size u16 | 60 entries u16 | 62 index of the names' section u16
/// section  0 name u32 | 4 type u32 | 16 address u64 | 24 offset u64 | 32 size u64 | 40 link u32
/// symbol   0 name u32 | 4 info u8 (type in the low 4 bits) | 6 section u16 | 8 value u64 | 16 size u64   (24 bytes)
/// </code>
/// </remarks>
public sealed class ElfFile
{
    private const ushort MachineX64 = 0x3e;
    private const int SymbolSize = 24;
    private readonly byte[] _bytes;
    private readonly List<ElfSection> _sections = [];

    private ElfFile(string path, byte[] bytes)
    {
        Path = path;
        _bytes = bytes;
    }

    public string Path { get; }

    public IReadOnlyList<ElfSection> Sections => _sections;

    public static ElfFile Open(string path)
    {
        byte[] bytes;
        try
        {
            bytes = File.ReadAllBytes(path);
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            throw new InputException($"'{path}' cannot be read: {e.Message}");
        }

        return Parse(path, bytes);
    }

    public static ElfFile Parse(string path, byte[] bytes)
    {
        if (bytes.Length < 64 || !bytes.AsSpan(0, 4).SequenceEqual("\u007fELF"u8))
        {
            throw new InputException($"'{path}' is not an ELF file. Name the executable that 'dotnet publish -r linux-x64' put into the publish folder.");
        }

        if (bytes[4] != 2 || bytes[5] != 1 || BinaryPrimitives.ReadUInt16LittleEndian(bytes.AsSpan(18)) != MachineX64)
        {
            throw new InputException($"'{path}' is an ELF file, but not for x86-64. Only linux-x64 programs can be read.");
        }

        ElfFile file = new(path, bytes);
        file.ReadSections();
        return file;
    }

    public ElfSection? FindSection(string name) => _sections.Find(s => s.Name == name);

    /// <summary>The bytes of a section that occupies the file.</summary>
    public ReadOnlySpan<byte> Content(ElfSection section) =>
        section.Type == ElfSection.TypeNoBits ? default : Slice(section.Offset, section.Size);

    /// <summary>The bytes from <paramref name="address"/> to the end of the section it lies in.</summary>
    public ReadOnlySpan<byte> From(ulong address)
    {
        foreach (ElfSection section in _sections)
        {
            if (section.Address != 0 && section.Type != ElfSection.TypeNoBits && section.Contains(address))
            {
                return Content(section)[(int)(address - section.Address)..];
            }
        }

        throw new InputException($"'{Path}' is damaged: no content at address 0x{address:x}.");
    }

    public ReadOnlySpan<byte> From(ulong address, int length)
    {
        ReadOnlySpan<byte> rest = From(address);
        return length <= rest.Length
            ? rest[..length]
            : throw new InputException($"'{Path}' is damaged: {length} bytes expected at address 0x{address:x}, {rest.Length} there.");
    }

    /// <summary>Names by address, function and untyped symbols only; the first (in name order) where several share one.</summary>
    public Dictionary<ulong, string> ReadSymbols()
    {
        Dictionary<ulong, string> names = [];
        foreach (ElfSection table in _sections.Where(s => s.Type == ElfSection.TypeSymbolTable))
        {
            if (table.Link >= _sections.Count)
            {
                throw new InputException($"'{Path}' is damaged: its symbol table refers to section {table.Link} of {_sections.Count}.");
            }

            ReadOnlySpan<byte> symbols = Content(table);
            ReadOnlySpan<byte> strings = Content(_sections[(int)table.Link]);
            for (int at = 0; at + SymbolSize <= symbols.Length; at += SymbolSize)
            {
                ReadOnlySpan<byte> symbol = symbols.Slice(at, SymbolSize);
                int type = symbol[4] & 0xf;
                ulong value = BinaryPrimitives.ReadUInt64LittleEndian(symbol[8..]);
                if (type > 2 || type == 1 || value == 0 || BinaryPrimitives.ReadUInt16LittleEndian(symbol[6..]) == 0)
                {
                    continue;
                }

                string name = ReadString(strings, BinaryPrimitives.ReadUInt32LittleEndian(symbol));
                if (name.Length > 0 && (!names.TryGetValue(value, out string? other) || string.CompareOrdinal(name, other) < 0))
                {
                    names[value] = name;
                }
            }
        }

        return names;
    }

    /// <summary>The linker's build id (a hash of the program), or null: ties a .dbg file to its executable.</summary>
    public string? ReadBuildId() =>
        FindSection(".note.gnu.build-id") is { } note && Content(note) is { Length: > 16 } bytes ? Convert.ToHexStringLower(bytes[16..]) : null;

    private static string ReadString(ReadOnlySpan<byte> strings, uint offset)
    {
        if (offset >= strings.Length)
        {
            return "";
        }

        ReadOnlySpan<byte> text = strings[(int)offset..];
        int end = text.IndexOf((byte)0);
        return Encoding.UTF8.GetString(end < 0 ? text : text[..end]);
    }

    private void ReadSections()
    {
        ulong table = BinaryPrimitives.ReadUInt64LittleEndian(_bytes.AsSpan(40));
        int size = BinaryPrimitives.ReadUInt16LittleEndian(_bytes.AsSpan(58));
        int count = BinaryPrimitives.ReadUInt16LittleEndian(_bytes.AsSpan(60));
        int namesIndex = BinaryPrimitives.ReadUInt16LittleEndian(_bytes.AsSpan(62));
        if (table == 0 || count == 0)
        {
            throw new InputException($"'{Path}' has no section table: it was stripped of it (sstrip, strip --strip-section-headers). Read the file as 'dotnet publish' made it.");
        }

        if (size < 64 || namesIndex >= count)
        {
            throw new InputException($"'{Path}' is damaged: its section table is malformed.");
        }

        ReadOnlySpan<byte> headers = Slice(table, (ulong)size * (ulong)count);
        List<(uint Name, ElfSection Section)> read = [];
        for (int i = 0; i < count; i++)
        {
            ReadOnlySpan<byte> h = headers.Slice(i * size, size);
            read.Add((BinaryPrimitives.ReadUInt32LittleEndian(h), new ElfSection(
                "",
                BinaryPrimitives.ReadUInt32LittleEndian(h[4..]),
                BinaryPrimitives.ReadUInt64LittleEndian(h[16..]),
                BinaryPrimitives.ReadUInt64LittleEndian(h[24..]),
                BinaryPrimitives.ReadUInt64LittleEndian(h[32..]),
                BinaryPrimitives.ReadUInt32LittleEndian(h[40..]))));
        }

        ReadOnlySpan<byte> names = Content(read[namesIndex].Section);
        foreach ((uint name, ElfSection section) in read)
        {
            ElfSection named = section with { Name = ReadString(names, name) };
            Content(named);
            _sections.Add(named);
        }
    }

    private ReadOnlySpan<byte> Slice(ulong offset, ulong size) =>
        offset <= (ulong)_bytes.Length && size <= (ulong)_bytes.Length - offset
            ? _bytes.AsSpan((int)offset, (int)size)
            : throw new InputException($"'{Path}' is cut off: {size} bytes expected at file offset {offset}, the file has {_bytes.Length}.");
}
