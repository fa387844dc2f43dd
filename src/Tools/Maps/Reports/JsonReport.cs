using System.Text.Json;
using Freehold.Maps.Analysis;

namespace Freehold.Maps.Reports;

/// <summary>The same figures for programs. Property names are a promise to scripts: add, never rename.</summary>
public static class JsonReport
{
    private static readonly JsonSerializerOptions s_options = new() { WriteIndented = true, PropertyNamingPolicy = JsonNamingPolicy.CamelCase };

    public static void Write(ProgramReport report, TextWriter output)
    {
        var document = new
        {
            File = report.Program.File.Path,
            HasSymbols = report.Program.Symbols.Count > 0,
            Methods = new
            {
                Total = report.Methods.Count,
                report.WithRanges,
                report.FullyMapped,
                report.CanFault,
                report.CanFaultMapped,
                MappedPercent = Round(report.MappedPercent),
            },
            Code = new
            {
                Bytes = report.CodeBytes,
                report.InterruptibleBytes,
                report.PrologAndEpilogBytes,
                report.HoleBytes,
                report.NoRangeBytes,
                InterruptiblePercent = Round(report.InterruptiblePercent),
            },
            Holes = new
            {
                Count = report.Holes.Count(),
                LargestBytes = report.Holes.Select(h => h.Length).DefaultIfEmpty(0).Max(),
            },
            UnmappedHeapAccesses = new
            {
                PrologAndEpilog = report.HeapAccesses(UnmappedKind.PrologOrEpilog),
                Hole = report.HeapAccesses(UnmappedKind.Hole),
                NoRange = report.HeapAccesses(UnmappedKind.NoRange),
                Of = report.Methods.Sum(m => m.HeapAccesses),
            },
            Stubs = new
            {
                report.Stubs.Count,
                Bytes = report.Stubs.Sum(s => s.Bytes),
                CanFault = report.Stubs.Count(s => s.TouchesHeap),
            },
            NotMapped = report.NotMapped.Select(m => new { m.Method.Name, Address = m.Method.Start, Bytes = m.Method.CodeBytes, m.Reason, m.CanFault }),
            report.Program.Errors,
        };
        output.WriteLine(JsonSerializer.Serialize(document, s_options));
    }

    private static double Round(double percent) => Math.Round(percent, 2);
}
