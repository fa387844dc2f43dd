using System.Buffers.Binary;
using Freehold.Maps.Elf;
using Freehold.Maps.GcInfo;

namespace Freehold.Maps.Analysis;

/// <summary>
/// A published NativeAOT program: its managed methods with their maps, and what else lies in the managed code section.
/// Invariant: every FDE with language-specific data belongs to exactly one method, and the code length in a method's GC info
/// reaches to the end of its last frame (up to padding); anything else is in <see cref="Errors"/>.
/// </summary>
/// <remarks>
/// Language-specific data of an FDE:
/// <code>
/// u8 flags: bits 0-1 kind (0 method, 1 handler, 2 filter) | 4 has EH info | 0x10 has associated data
/// method:           [i32 associated data] [i32 EH info] GC info
/// handler, filter:  [i32 associated data] i32 the method's data, relative to this field | i32 distance back to the method's start
/// </code>
/// </remarks>
public sealed class NativeAotProgram
{
    private const int KindMask = 3;
    private const int KindMethod = 0;
    private const int HasEhInfo = 4;
    private const int HasAssociatedData = 0x10;
    private const int MaxPadding = 32;

    private NativeAotProgram(ElfFile file, ElfSection code)
    {
        File = file;
        Code = code;
    }

    public ElfFile File { get; }

    /// <summary>The section __managedcode.</summary>
    public ElfSection Code { get; }

    /// <summary>The version of the methods' GC info.</summary>
    public int GcInfoVersion { get; private set; }

    public IReadOnlyList<ManagedMethod> Methods { get; private set; } = [];

    /// <summary>Stretches of managed code that no method covers: the compiler's stubs, written in assembly, without a map.</summary>
    public IReadOnlyList<(ulong Start, ulong End)> Uncovered { get; private set; } = [];

    public IReadOnlyDictionary<ulong, string> Symbols { get; private set; } = new Dictionary<ulong, string>();

    public IReadOnlyList<string> Errors { get; private set; } = [];

    public static NativeAotProgram Open(string path, string? symbolsPath)
    {
        ElfFile file = ElfFile.Open(path);
        if (file.FindSection("__managedcode") is not { } code)
        {
            throw new InputException($"'{path}' is not a NativeAOT program: it has no section '__managedcode'. Name the executable that 'dotnet publish' with PublishAot=true put into the publish folder (not the .dll, not the apphost in bin).");
        }

        if (file.FindSection(".dotnet_eh_table") is null)
        {
            throw new InputException($"'{path}' has no section '.dotnet_eh_table', which holds the GC info: it was not linked by NativeAOT's targets, or the section was removed.");
        }

        NativeAotProgram program = new(file, code);
        program.Symbols = ReadSymbols(file, symbolsPath);
        program.ReadMethods();
        return program;
    }

    public string NameOf(ulong address) => Symbols.TryGetValue(address, out string? name) ? name : $"0x{address:x}";

    /// <summary>
    /// The compiler's header of the module tells which it was: a u32 signature | u16 major and u16 minor version of the format | u32 flags (0) | u16 sections | u8 size of
    /// an entry (24) | u8 its type (1).
    /// </summary>
    private static int ReadGcInfoVersion(ElfFile file)
    {
        const int HeaderSize = 16;
        foreach (ElfSection section in file.Sections.Where(section => section.Name is ".data" or ".data.rel.ro" or ".rodata"))
        {
            ReadOnlySpan<byte> content = file.Content(section);
            for (int at = content.IndexOf("RTR\0"u8), next; at >= 0 && content.Length - at >= HeaderSize; at = next < 0 ? -1 : at + 1 + next)
            {
                next = content[(at + 1)..].IndexOf("RTR\0"u8);
                ReadOnlySpan<byte> header = content.Slice(at, HeaderSize);
                if (BinaryPrimitives.ReadUInt32LittleEndian(header[8..]) != 0 || header[14] != 24 || header[15] != 1)
                {
                    continue;
                }

                int major = BinaryPrimitives.ReadUInt16LittleEndian(header[4..]);
                return major switch
                {
                    10 => 3, // .NET 9
                    16 => 4, // .NET 10
                    _ => throw new InputException($"'{file.Path}' was compiled by an ILCompiler whose format is {major}; those of .NET 9 (10) and .NET 10 (16) can be read."),
                };
            }
        }

        throw new InputException($"'{file.Path}' has no header of a module: it was not linked by NativeAOT's targets.");
    }

    private static Dictionary<ulong, string> ReadSymbols(ElfFile file, string? symbolsPath)
    {
        if (file.FindSection(".symtab") is not null && symbolsPath is null)
        {
            return file.ReadSymbols();
        }

        string candidate = symbolsPath ?? file.Path + ".dbg";
        if (!System.IO.File.Exists(candidate))
        {
            return symbolsPath is null ? [] : throw new InputException($"'{candidate}' does not exist.");
        }

        ElfFile symbols = ElfFile.Open(candidate);
        if (symbols.ReadBuildId() != file.ReadBuildId())
        {
            throw new InputException($"'{candidate}' belongs to another build than '{file.Path}' (their build ids differ). Publish again, or name the right file with --symbols.");
        }

        return symbols.ReadSymbols();
    }

    private void ReadMethods()
    {
        List<FrameEntry> entries = [.. FrameTable.Read(File, Code).OrderBy(e => e.Start)];
        GcInfoVersion = ReadGcInfoVersion(File);
        Dictionary<ulong, (List<FrameEntry> Frames, ulong GcInfo)> methods = [];
        List<(FrameEntry Entry, ulong Method)> funclets = [];
        List<string> errors = [];
        foreach (FrameEntry entry in entries.Where(e => e.Lsda != 0))
        {
            ReadOnlySpan<byte> data = File.From(entry.Lsda);
            int cursor = 1 + ((data[0] & HasAssociatedData) != 0 ? 4 : 0);
            if ((data[0] & KindMask) == KindMethod)
            {
                cursor += (data[0] & HasEhInfo) != 0 ? 4 : 0;
                if (!methods.TryAdd(entry.Start, ([entry], entry.Lsda + (ulong)cursor)))
                {
                    errors.Add($"{NameOf(entry.Start)}: two frame entries start here");
                }
            }
            else if (data.Length < cursor + 8)
            {
                errors.Add($"{NameOf(entry.Start)}: the funclet's data is cut off");
            }
            else
            {
                funclets.Add((entry, entry.Start - (ulong)BinaryPrimitives.ReadInt32LittleEndian(data[(cursor + 4)..])));
            }
        }

        foreach ((FrameEntry entry, ulong method) in funclets)
        {
            if (methods.TryGetValue(method, out (List<FrameEntry> Frames, ulong GcInfo) owner))
            {
                owner.Frames.Add(entry);
            }
            else
            {
                errors.Add($"{NameOf(entry.Start)}: a funclet of no method");
            }
        }

        List<ManagedMethod> result = [];
        foreach ((ulong start, (List<FrameEntry> frames, ulong gcInfo)) in methods)
        {
            try
            {
                MethodGcInfo info = GcInfoDecoder.Decode(File.From(gcInfo), GcInfoVersion);
                long extent = (long)(frames[^1].End - start);
                if (info.CodeLength < extent || info.CodeLength > extent + MaxPadding)
                {
                    throw new FormatException($"a code length of {info.CodeLength} for {extent} bytes");
                }

                result.Add(new ManagedMethod(start, NameOf(start), frames, info));
            }
            catch (FormatException e)
            {
                errors.Add($"{NameOf(start)}: its GC info cannot be decoded: {e.Message}");
            }
        }

        Methods = [.. result.OrderBy(m => m.Start)];
        Errors = errors;
        Uncovered = FindUncovered(entries);
        if (Methods.Count == 0 && errors.Count == 0)
        {
            throw new InputException($"'{File.Path}' has no frame entry of a managed method: .eh_frame was stripped.");
        }
    }

    private List<(ulong Start, ulong End)> FindUncovered(List<FrameEntry> entries)
    {
        List<(ulong Start, ulong End)> uncovered = [];
        ulong at = Code.Address;
        foreach (FrameEntry entry in entries.Where(e => e.Lsda != 0))
        {
            if (entry.Start > at)
            {
                uncovered.Add((at, entry.Start));
            }

            at = Math.Max(at, entry.End);
        }

        if (Code.End > at)
        {
            uncovered.Add((at, Code.End));
        }

        return uncovered;
    }
}
