using System.Globalization;
using Freehold.Maps.Analysis;
using Freehold.Maps.Reports;

namespace Freehold.Maps;

public static class Program
{
    public const int Good = 0;
    public const int BelowLimit = 1;
    public const int WrongUsage = 2;
    public const int BadInput = 3;
    public const int BadGcInfo = 4;

    public static int Main(string[] args) => Run(args, Console.Out, Console.Error);

    public static int Run(IReadOnlyList<string> args, TextWriter output, TextWriter error)
    {
        if (Options.Parse(args, out Options options) is { } wrong)
        {
            error.WriteLine($"freehold-maps: {wrong}");
            error.WriteLine(Options.Usage);
            return WrongUsage;
        }

        if (options.Help)
        {
            output.WriteLine(Options.Usage);
            return Good;
        }

        try
        {
            NativeAotProgram program = NativeAotProgram.Open(options.Program, options.Symbols);
            if (options.Method is not null)
            {
                MethodDump.Write(program, MethodDump.Find(program, options.Method), output);
                return Good;
            }

            ProgramReport report = ProgramReport.Create(program);
            (options.Json ? (Action<ProgramReport, TextWriter>)JsonReport.Write : TextReport.Write)(report, output);
            return Judge(report, options, error);
        }
        catch (InputException e)
        {
            error.WriteLine($"freehold-maps: {e.Message}");
            return BadInput;
        }
    }

    private static int Judge(ProgramReport report, Options options, TextWriter error)
    {
        if (report.Program.Errors.Count > 0)
        {
            error.WriteLine($"freehold-maps: {report.Program.Errors.Count} methods could not be read; the figures leave them out. First: {report.Program.Errors[0]}");
            return BadGcInfo;
        }

        bool below = IsBelow(report.MappedPercent, options.FailBelow, "methods that can fault are mapped", error);
        return IsBelow(report.InterruptiblePercent, options.FailBelowBytes, "code bytes lie in interruptible ranges", error) || below ? BelowLimit : Good;
    }

    private static bool IsBelow(double percent, double? limit, string what, TextWriter error)
    {
        if (limit is not { } least || percent >= least)
        {
            return false;
        }

        error.WriteLine(string.Create(CultureInfo.InvariantCulture, $"freehold-maps: {percent:F2} % of the {what}, {least:F2} % are required."));
        return true;
    }
}
