using System.Text.Json;
using System.Text.RegularExpressions;
using Freehold.Maps.Analysis;
using Freehold.Maps.Elf;
using Xunit;

namespace Freehold.Maps.Tests;

/// <summary>All that a version can change, for the other target framework.</summary>
public sealed class OtherFrameworkProgramTests(PublishedProgramsOfOther programs) : VersionedProgramTests(programs), IClassFixture<PublishedProgramsOfOther>;

public abstract class VersionedProgramTests(PublishedPrograms programs)
{
    [Fact]
    public void BothProgramsRunAlike()
    {
        const string Expected = "NullReferenceException\n249500\n42\n";
        Assert.Equal((0, Expected), PublishedPrograms.Execute(programs.Stock, ""));
        Assert.Equal((0, Expected), PublishedPrograms.Execute(programs.Hooked, ""));
    }

    [Fact]
    public void TheJitCallsEveryMethodFullyInterruptible()
    {
        string text = File.ReadAllText(programs.Disassembly);
        int methods = Regex.Count(text, "^; Assembly listing for method ", RegexOptions.Multiline);
        Assert.True(methods > 1000, $"{methods} methods listed");
        Assert.Equal(methods, Regex.Count(text, @"^; fully interruptible\r?$", RegexOptions.Multiline));
        Assert.Equal(0, Regex.Count(text, "^; partially interruptible", RegexOptions.Multiline));
    }

    [Fact]
    public void EveryMethodThatCanFaultIsMapped()
    {
        ProgramReport report = Report(programs.Hooked);
        Assert.Empty(report.Program.Errors);
        Assert.True(report.Methods.Count > 1000);
        Assert.Empty(report.NotMapped.Where(m => m.CanFault).Select(m => m.Method.Name));
        Assert.True(report.InterruptiblePercent > 80, $"{report.InterruptiblePercent} %");
        Assert.Equal((Program.Good, ""), (Tool.Run(programs.Hooked, "--fail-below", "100").Code, Tool.Run(programs.Hooked, "--fail-below", "100").Error));
    }

    [Fact]
    public void WithoutTheHookMostCodeHasNoMap()
    {
        ProgramReport report = Report(programs.Stock);
        Assert.Empty(report.Program.Errors);
        Assert.True(report.InterruptiblePercent < 50, $"{report.InterruptiblePercent} %");
        Assert.True(report.MappedPercent < 50, $"{report.MappedPercent} %");
        (int code, _, string error) = Tool.Run(programs.Stock, "--fail-below", "100");
        Assert.Equal(Program.BelowLimit, code);
        Assert.Contains("100.00 % are required", error);
        Assert.Equal(Program.BelowLimit, Tool.Run(programs.Stock, "--fail-below-bytes", "80").Code);
    }

    protected static ProgramReport Report(string path) => ProgramReport.Create(NativeAotProgram.Open(path, null));
}

public sealed class PublishedProgramTests(PublishedProgramsOfMain programs) : VersionedProgramTests(programs), IClassFixture<PublishedProgramsOfMain>
{
    [Fact]
    public void TheHookKeepsTheMethodsAndTheSizeOfTheCode()
    {
        ProgramReport stock = Report(programs.Stock);
        ProgramReport hooked = Report(programs.Hooked);
        Assert.Equal(stock.Methods.Select(m => m.Method.Name).Order(StringComparer.Ordinal), hooked.Methods.Select(m => m.Method.Name).Order(StringComparer.Ordinal));
        // Smaller by the copies of loops that are not made, larger by handlers that stay.
        Assert.InRange(hooked.CodeBytes, stock.CodeBytes * 0.98, stock.CodeBytes * 1.001);
    }

    [Fact]
    public void BytesAddUp()
    {
        foreach (string program in new[] { programs.Stock, programs.Hooked })
        {
            ProgramReport report = Report(program);
            long interruptible = report.Methods.Sum(m => m.Method.Frames.Sum(f =>
                (long)Enumerable.Range((int)(f.Start - m.Method.Start), (int)(f.End - f.Start)).Count(m.Method.GcInfo.IsInterruptible)));
            Assert.Equal(interruptible, report.InterruptibleBytes);
        }
    }

    [Fact]
    public void JsonHoldsTheSameFigures()
    {
        ProgramReport report = Report(programs.Hooked);
        using JsonDocument document = JsonDocument.Parse(Tool.Run(programs.Hooked, "--json").Output);
        JsonElement root = document.RootElement;
        Assert.Equal(report.Methods.Count, root.GetProperty("methods").GetProperty("total").GetInt32());
        Assert.Equal(100.0, root.GetProperty("methods").GetProperty("mappedPercent").GetDouble());
        Assert.Equal(report.InterruptibleBytes, root.GetProperty("code").GetProperty("interruptibleBytes").GetInt64());
        Assert.Equal(report.NotMapped.Count(), root.GetProperty("notMapped").GetArrayLength());
        Assert.Empty(root.GetProperty("errors").EnumerateArray());
    }

    [Fact]
    public void AMethodsDumpNamesTheBaseOfEachLoad()
    {
        (int code, string output, string error) = Tool.Run(programs.Hooked, "--method", "Node__Walk");
        Assert.True(code == Program.Good, error);
        // Each access of the heap in the body goes through a register that the map reports as live just there.
        MatchCollection accesses = Regex.Matches(output, @"^ *[0-9a-f]+ \* .*\[(r[a-z0-9]+)[^\]]*\] +(.*)$", RegexOptions.Multiline);
        Assert.True(accesses.Count >= 2, output);
        foreach (Match access in accesses)
        {
            Assert.Contains(access.Groups[1].Value, access.Groups[2].Value.Split(' '));
        }
    }

    [Fact]
    public void AmbiguousAndUnknownMethodNamesAreErrors()
    {
        (int code, _, string error) = Tool.Run(programs.Hooked, "--method", "NoSuchMethodAnywhere");
        Assert.Equal((Program.BadInput, "freehold-maps: No method is called 'NoSuchMethodAnywhere'."), (code, error.TrimEnd()));
        (code, _, error) = Tool.Run(programs.Hooked, "--method", "String");
        Assert.Equal(Program.BadInput, code);
        Assert.Matches("'String' fits [0-9]+ methods: ", error);
    }

    [Fact]
    public void WithoutSymbolsMethodsAreNamedByAddress()
    {
        string copy = programs.TempFile("nosymbols");
        File.Copy(programs.Hooked, copy, overwrite: true);
        (int code, string output, _) = Tool.Run(copy);
        Assert.Equal(Program.Good, code);
        Assert.Contains("(no symbols", output);
        ProgramReport report = Report(copy);
        Assert.Equal(Report(programs.Hooked).InterruptibleBytes, report.InterruptibleBytes);
        Assert.All(report.Methods, m => Assert.StartsWith("0x", m.Method.Name));
    }

    [Fact]
    public void SymbolsOfAnotherBuildAreRefused()
    {
        (int code, _, string error) = Tool.Run(programs.Hooked, "--symbols", programs.Stock + ".dbg");
        Assert.Equal(Program.BadInput, code);
        Assert.Contains("belongs to another build", error);
    }

    [Fact]
    public void TheDebugFileIsNoProgram()
    {
        (int code, _, string error) = Tool.Run(programs.Hooked + ".dbg");
        Assert.Equal(Program.BadInput, code);
        Assert.Contains("holds only debug information", error);
    }

    [Fact]
    public void DamagedGcInfoIsReportedAndIsExitCodeFour()
    {
        byte[] bytes = File.ReadAllBytes(programs.Hooked);
        ElfFile file = ElfFile.Open(programs.Hooked);
        ElfSection table = file.FindSection(".dotnet_eh_table")!;
        // Method data starts with a flags byte; all ones in its GC info is no valid stream.
        ManagedMethod method = Report(programs.Hooked).Methods.First(m => m.HasRanges && m.Method.Frames.Count == 1).Method;
        bytes.AsSpan((int)(table.Offset + (method.Frames[0].Lsda - table.Address)) + 1, 12).Fill(0xff);
        string copy = programs.TempFile("damaged");
        File.WriteAllBytes(copy, bytes);
        (int code, string output, string error) = Tool.Run(copy);
        Assert.Equal(Program.BadGcInfo, code);
        Assert.Contains("cannot be decoded", output);
        Assert.Contains("methods could not be read", error);
    }

    [Fact]
    public void CutOffProgramsAreErrorsNotCrashes()
    {
        byte[] bytes = File.ReadAllBytes(programs.Hooked);
        foreach (int length in new[] { 64, 4096, bytes.Length / 2, bytes.Length - 1 })
        {
            string copy = programs.TempFile("cut");
            File.WriteAllBytes(copy, bytes[..length]);
            (int code, _, string error) = Tool.Run(copy);
            Assert.Equal(Program.BadInput, code);
            Assert.Contains("is cut off", error);
        }
    }

    [Fact]
    public void PublishFailsWhenTheJitCannotBePatched()
    {
        (int code, string output) = programs.TryPublish("refused", $"""<IlcArg Include="--jitpath:{programs.Hook}" />""", ("FREEHOLD_JIT", "/nowhere/libclrjit.so"));
        Assert.NotEqual(0, code);
        Assert.Contains("error FH0007: the JIT '/nowhere/libclrjit.so' cannot be loaded", output);
        Assert.False(File.Exists(programs.TempFile("refused/out/program")));
    }
}
