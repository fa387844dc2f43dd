using Iced.Intel;

namespace Freehold.Maps.Analysis;

/// <summary>The figures of a whole program. Every byte of a method is in exactly one of the four byte counts.</summary>
public sealed class ProgramReport
{
    private ProgramReport(NativeAotProgram program)
    {
        Program = program;
        InstructionScanner scanner = new(program.File);
        Methods = [.. program.Methods.Select(scanner.Scan)];
        List<(ulong Start, int Bytes, bool TouchesHeap)> stubs = [];
        foreach ((ulong start, ulong end) in program.Uncovered)
        {
            stubs.AddRange(SplitStubs(scanner, start, end));
        }

        Stubs = stubs;
    }

    public NativeAotProgram Program { get; }

    public IReadOnlyList<MethodReport> Methods { get; }

    /// <summary>Code between the methods that is not padding; a stretch of several stubs is split at symbols.</summary>
    public IReadOnlyList<(ulong Start, int Bytes, bool TouchesHeap)> Stubs { get; }

    public int WithRanges => Methods.Count(m => m.HasRanges);

    public int FullyMapped => Methods.Count(m => m.IsFullyMapped);

    public int CanFault => Methods.Count(m => m.CanFault);

    public int CanFaultMapped => Methods.Count(m => m.CanFault && m.HasRanges);

    public IEnumerable<MethodReport> NotMapped => Methods.Where(m => !m.HasRanges);

    public long CodeBytes => Methods.Sum(m => (long)m.Method.CodeBytes);

    public long InterruptibleBytes => CodeBytes - PrologAndEpilogBytes - HoleBytes - NoRangeBytes;

    public long PrologAndEpilogBytes => Bytes(UnmappedKind.PrologOrEpilog);

    public long HoleBytes => Bytes(UnmappedKind.Hole);

    public long NoRangeBytes => Bytes(UnmappedKind.NoRange);

    public IEnumerable<UnmappedRun> Holes => Methods.SelectMany(m => m.Runs).Where(r => r.Kind == UnmappedKind.Hole);

    /// <summary>Of the methods that may fault, the share that has a map, in percent; 100 when none may fault.</summary>
    public double MappedPercent => Percent(CanFaultMapped, CanFault);

    public double InterruptiblePercent => Percent(InterruptibleBytes, CodeBytes);

    public static ProgramReport Create(NativeAotProgram program) => new(program);

    public int HeapAccesses(UnmappedKind kind) =>
        Methods.SelectMany(m => m.Runs).Where(r => r.Kind == kind).Sum(r => r.HeapAccesses.Count);

    internal static double Percent(long part, long whole) => whole == 0 ? 100 : 100.0 * part / whole;

    private long Bytes(UnmappedKind kind) => Methods.Sum(m => (long)m.BytesIn(kind));

    private IEnumerable<(ulong Start, int Bytes, bool TouchesHeap)> SplitStubs(InstructionScanner scanner, ulong start, ulong end)
    {
        ulong at = start;
        foreach (Instruction instruction in scanner.Decode(start, end).ToList())
        {
            if (instruction.IP > at && Program.Symbols.ContainsKey(instruction.IP))
            {
                if (scanner.ScanStub(at, instruction.IP) is { Bytes: > 0 } stub)
                {
                    yield return (at, stub.Bytes, stub.TouchesHeap);
                }

                at = instruction.IP;
            }
        }

        if (scanner.ScanStub(at, end) is { Bytes: > 0 } last)
        {
            yield return (at, last.Bytes, last.TouchesHeap);
        }
    }
}
