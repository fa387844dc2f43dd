using System.Globalization;
using Freehold.Maps.Analysis;

namespace Freehold.Maps.Reports;

/// <summary>The report for people. README.md beside the project explains each line.</summary>
public static class TextReport
{
    public static void Write(ProgramReport report, TextWriter output)
    {
        UnmappedRun? largest = report.Holes.MaxBy(h => h.Length);
        output.WriteLine(report.Program.File.Path);
        if (report.Program.Symbols.Count == 0)
        {
            output.WriteLine("(no symbols: methods are named by address; put the .dbg file beside the program or name it with --symbols)");
        }

        output.WriteLine();
        Line(output, "methods", report.Methods.Count);
        Line(output, "  with interruptible ranges", report.WithRanges, report.Methods.Count);
        Line(output, "  fully mapped", report.FullyMapped, report.Methods.Count);
        Line(output, "  that can fault", report.CanFault);
        Line(output, "    of these mapped", report.CanFaultMapped, report.CanFault);
        Line(output, "code bytes", report.CodeBytes);
        Line(output, "  in interruptible ranges", report.InterruptibleBytes, report.CodeBytes);
        Line(output, "  in prologs and epilogs", report.PrologAndEpilogBytes, report.CodeBytes);
        Line(output, "  in holes inside bodies", report.HoleBytes, report.CodeBytes);
        Line(output, "  in methods without ranges", report.NoRangeBytes, report.CodeBytes);
        Line(output, "holes", report.Holes.Count());
        Line(output, "  largest, bytes", largest?.Length ?? 0);
        Line(output, "heap accesses outside ranges", report.Methods.Sum(m => m.UnmappedHeapAccesses), report.Methods.Sum(m => m.HeapAccesses));
        Line(output, "  in prologs and epilogs", report.HeapAccesses(UnmappedKind.PrologOrEpilog));
        Line(output, "  in holes", report.HeapAccesses(UnmappedKind.Hole));
        Line(output, "  in methods without ranges", report.HeapAccesses(UnmappedKind.NoRange));
        Line(output, "stubs without a map", report.Stubs.Count);
        Line(output, "  bytes", report.Stubs.Sum(s => s.Bytes));
        Line(output, "  that can fault", report.Stubs.Count(s => s.TouchesHeap));

        List<MethodReport> notMapped = [.. report.NotMapped.OrderByDescending(m => m.CanFault).ThenBy(m => m.Method.Start)];
        if (notMapped.Count > 0)
        {
            output.WriteLine();
            output.WriteLine("Methods without a map:");
            foreach (MethodReport method in notMapped)
            {
                string fault = method.CanFault ? $"CAN FAULT ({method.HeapAccesses} accesses)" : "cannot fault";
                output.WriteLine($"  {fault}: {method.Method.Name} ({method.Method.CodeBytes} bytes; {method.Reason})");
            }
        }

        foreach (string error in report.Program.Errors)
        {
            output.WriteLine($"ERROR: {error}");
        }
    }

    private static void Line(TextWriter output, string label, long value) =>
        output.WriteLine(string.Create(CultureInfo.InvariantCulture, $"{label,-32}{value,14:N0}"));

    private static void Line(TextWriter output, string label, long value, long whole) =>
        output.WriteLine(string.Create(CultureInfo.InvariantCulture, $"{label,-32}{value,14:N0}{ProgramReport.Percent(value, whole),8:F1} %"));
}
