using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Text.RegularExpressions;
using Xunit;

namespace Freehold.Package.Tests;

/// <summary>What a publish gives: the right heap, a small executable, line numbers; and what it must not touch.</summary>
[Collection("machine")]
public sealed partial class PublishTests(PackageFixture machine)
{
    [Fact]
    public void FirstPublishOnANewMachineWorksWithoutAWarning()
    {
        using var fresh = new PackageFixture();
        var project = new SampleProject(fresh);
        CommandResult publish = project.Publish();
        Assert.True(publish.ExitCode == 0, publish.Output);
        Assert.DoesNotContain("warning", publish.Output, StringComparison.Ordinal);
        AssertRuns(project, manual: true);
    }

    /// <summary>Asked for by name, the private array of a list may be anywhere: a field of the program has the old one here, which stays what it was. Without that it goes.</summary>
    [Fact]
    public void AProgramThatAsksForPrivateFieldsKeepsOutgrownArrays()
    {
        const string Source = """
            using System;
            using System.Collections.Generic;
            using System.Linq;
            using System.Runtime.CompilerServices;

            var list = new List<long>(Enumerable.Range(0, 1000).Select(i => 3L * i));
            Kept.Array = Kept.ArrayOf(list);
            for (int round = 0; round < 50; round++)
            {
                for (int i = 0; i < 100_000; i++) list.Add(i);
                list = new List<long>();
            }
            Console.WriteLine($"{Kept.Array[..1000].Sum()} {Heap.GetStatistics().OutgrownArrays > 0}");

            static class Kept
            {
                public static long[] Array = [];
                ACCESS
            }
            """;
        foreach ((string access, string keeps) in new[]
        {
            ("[UnsafeAccessor(UnsafeAccessorKind.Field, Name = \"_items\")] static extern ref long[] Items(List<long> list); public static long[] ArrayOf(List<long> list) => Items(list);", "1498500 False"),
            ("public static long[] ArrayOf(List<long> list) => (long[])typeof(List<long>).GetField(\"_items\", System.Reflection.BindingFlags.NonPublic | System.Reflection.BindingFlags.Instance)!.GetValue(list)!;", "1498500 False"),
            ("public static long[] ArrayOf(List<long> list) => (long[])typeof(List<long>).GetFields(System.Reflection.BindingFlags.NonPublic | System.Reflection.BindingFlags.Instance).Single(field => field.FieldType.IsArray).GetValue(list)!;", "1498500 False"),
            ("public static long[] ArrayOf(List<long> list) => (long[])ItsField().GetValueDirect(__makeref(list))!; static System.Reflection.FieldInfo ItsField() => typeof(List<long>).GetFields(System.Reflection.BindingFlags.NonPublic | System.Reflection.BindingFlags.Instance).Single(field => field.FieldType.IsArray);", "1498500 False"),
            ("public static long[] ArrayOf(List<long> list) { long[] own = list.ToArray(); ItsField().SetValueDirect(__makeref(list), own); return own; } static System.Reflection.FieldInfo ItsField() => typeof(List<long>).GetFields(System.Reflection.BindingFlags.NonPublic | System.Reflection.BindingFlags.Instance).Single(field => field.FieldType.IsArray);", "1498500 False"),
            ("public static long[] ArrayOf(List<long> list) => list.ToArray();", "1498500 True"),
        })
        {
            var project = new SampleProject(machine, source: Source.Replace("ACCESS", access, StringComparison.Ordinal));
            CommandResult publish = project.Publish();
            Assert.True(publish.ExitCode == 0, publish.Output);
            Assert.Equal(keeps, project.Run().Output.Trim());
        }
    }

    /// <summary>Two collections have one array: what the one outgrows is still the other's. The same by reflection.</summary>
    [Theory]
    [InlineData("(Cloned)MemberwiseClone()")]
    [InlineData("(Cloned)typeof(object).GetMethod(\"MemberwiseClone\", System.Reflection.BindingFlags.NonPublic | System.Reflection.BindingFlags.Instance)!.Invoke(this, null)!")]
    [InlineData("((Func<Cloned>)(() => (Cloned)MemberwiseClone()))()")]
    public void AProgramThatClonesCollectionsKeepsOutgrownArrays(string clone)
    {
        const string Source = """
            using System;
            using System.Collections.Generic;
            using System.Linq;

            var list = new Cloned();
            list.AddRange(Enumerable.Range(0, 1000).Select(i => 3L * i));
            Cloned.Other = list.Clone();
            for (int round = 0; round < 50; round++)
            {
                for (int i = 0; i < 100_000; i++) list.Add(i);
                list = new Cloned();
            }
            Console.WriteLine($"{Cloned.Other.Sum()} {Heap.GetStatistics().OutgrownArrays > 0}");

            sealed class Cloned : List<long>
            {
                public static Cloned Other = [];
                public Cloned Clone() => CLONE;
            }
            """;
        var project = new SampleProject(machine, source: Source.Replace("CLONE", clone, StringComparison.Ordinal));
        CommandResult publish = project.Publish();
        Assert.True(publish.ExitCode == 0, publish.Output);
        Assert.Equal("1498500 False", project.Run().Output.Trim());
    }

    /// <summary>A collection's <c>CopyTo</c> fills the array of a list that is made of it, and may keep that array. One that only fills it does not.</summary>
    [Theory]
    [InlineData("public void CopyTo(long[] array, int at) { Kept = array; for (int i = 0; i < Count; i++) array[at + i] = 3L * i; }", "1498500 False")]
    [InlineData("public void CopyTo(long[] array, int at) { Keep(array); for (int i = 0; i < Count; i++) array[at + i] = 3L * i; } static void Keep(long[] array) => Kept = array;", "1498500 False")]
    [InlineData("public void CopyTo(long[] array, int at) { ArgumentNullException.ThrowIfNull(array); array.AsSpan().Fill(3L); new long[Count].CopyTo(array, at); array[at] = 1L; }", "0 True")]
    public void AProgramWhoseCollectionsKeepWhatTheyFillKeepsOutgrownArrays(string copy, string keeps)
    {
        const string Source = """
            using System;
            using System.Collections;
            using System.Collections.Generic;
            using System.Linq;

            var list = new List<long>(new Numbers());
            for (int round = 0; round < 50; round++)
            {
                for (int i = 0; i < 100_000; i++) list.Add(i);
                list = new List<long>();
            }
            Console.WriteLine($"{Numbers.Kept.Sum()} {Heap.GetStatistics().OutgrownArrays > 0}");

            sealed class Numbers : ICollection<long>
            {
                public static long[] Kept = [];
                public int Count => 1000;
                public bool IsReadOnly => true;
                public void Add(long number) => throw new NotSupportedException();
                public void Clear() => throw new NotSupportedException();
                public bool Contains(long number) => false;
                public bool Remove(long number) => false;
                public IEnumerator<long> GetEnumerator() => Enumerable.Range(0, 1000).Select(i => 3L * i).GetEnumerator();
                IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();
                COPY
            }
            """;
        var project = new SampleProject(machine, source: Source.Replace("COPY", copy, StringComparison.Ordinal));
        CommandResult publish = project.Publish();
        Assert.True(publish.ExitCode == 0, publish.Output);
        Assert.Equal(keeps, project.Run().Output.Trim());
    }

    [Fact]
    public void TheExecutableHoldsNoSymbolOfTheStockCollector()
    {
        Assert.Empty(StockCollectorSymbols(machine.Published));
        Assert.NotEmpty(StockCollectorSymbols(machine.Stock));
        AssertRuns(machine.Published, manual: true);
    }

    [Fact]
    public void TheExecutableIsNotMuchLargerThanTheStockOne()
    {
        double ratio = (double)new FileInfo(machine.Published.Executable).Length / new FileInfo(machine.Stock.Executable).Length;
        Assert.True(ratio <= 1.15, $"{ratio:F2} times the stock executable");
    }

    [Fact]
    public void DisabledItIsTheStockPublish()
    {
        AssertRuns(machine.Stock, manual: false);
        string arguments = File.ReadAllText(Path.Combine(machine.Stock.Folder, "obj/Release/net10.0/linux-x64/native/sample.ilc.rsp"));
        Assert.DoesNotContain("--jitpath", arguments, StringComparison.Ordinal);
        Assert.DoesNotContain("directpinvoke:freehold", arguments, StringComparison.Ordinal);
        Assert.DoesNotContain(machine.Cache, arguments, StringComparison.Ordinal);
        Assert.Contains("/microsoft.netcore.app.runtime.nativeaot.linux-x64/10.0.12/runtimes/linux-x64/native/System.Private.CoreLib.dll", arguments, StringComparison.Ordinal);
    }

    [Fact]
    public void SwitchingBetweenTheHeapsInOneFolderLinksAnew()
    {
        var project = new SampleProject(machine);
        Assert.Equal(0, project.Publish("-p:FreeholdEnabled=false").ExitCode);
        AssertRuns(project, manual: false);
        Assert.Equal(0, project.Publish().ExitCode);
        AssertRuns(project, manual: true);
    }

    [Fact]
    public void SwitchingTheNativeHeapLinksAnewAndNothingElseDoes()
    {
        const string Source = """System.Console.WriteLine($"meshing: {System.Heap.GetStatistics().Native.MappingBudget > 0}");""";
        var project = new SampleProject(machine, source: Source);
        string link = Path.Combine(project.Folder, "bin/Release/net10.0/linux-x64/native/sample");
        Assert.Equal(0, project.Publish().ExitCode);
        Assert.Equal("meshing: False", project.Run().Output.Trim());
        DateTime linked = File.GetLastWriteTimeUtc(link);
        Assert.Equal(0, project.Publish().ExitCode);
        Assert.Equal(linked, File.GetLastWriteTimeUtc(link));

        CommandResult mesh = project.Publish("-p:FreeholdNativeHeap=mesh");
        Assert.True(mesh.ExitCode == 0, mesh.Output);
        Assert.Equal("meshing: True", project.Run().Output.Trim());
        linked = File.GetLastWriteTimeUtc(link);
        Assert.Equal(0, project.Publish("-p:FreeholdNativeHeap=mesh").ExitCode);
        Assert.Equal(linked, File.GetLastWriteTimeUtc(link));

        Assert.Equal(0, project.Publish().ExitCode);
        Assert.Equal("meshing: False", project.Run().Output.Trim());
    }

    [Theory]
    [InlineData("-p:CppCompilerAndLinker=gcc")]
    [InlineData("-p:CppCompilerAndLinker=clang", "-p:LinkerFlavor=lld")]
    [InlineData("-p:CppCompilerAndLinker=gcc", "-p:FreeholdNativeHeap=mesh")]
    [InlineData("-p:CppCompilerAndLinker=clang", "-p:LinkerFlavor=lld", "-p:FreeholdNativeHeap=mesh")]
    public void EveryLinkerWorks(params string[] arguments)
    {
        var project = new SampleProject(machine);
        CommandResult publish = project.Publish(arguments);
        Assert.True(publish.ExitCode == 0, publish.Output);
        AssertRuns(project, manual: true);
        Assert.Empty(StockCollectorSymbols(project));
    }

    [Fact]
    public void LineNumbersSurvive()
    {
        // As a debugger or a crash reporter does it: address of the method plus offset from the stack trace, looked up in the .dbg file.
        Match frame = ThrowFrame().Match(machine.Published.Run().Output);
        Assert.True(frame.Success, machine.Published.Run().Output);
        long offset = long.Parse(frame.Groups[1].ValueSpan, NumberStyles.HexNumber, CultureInfo.InvariantCulture);
        string symbols = machine.Published.Executable + ".dbg";
        Match symbol = ThrowSymbol().Match(Command.Tool("nm", symbols));
        Assert.True(symbol.Success);
        long address = long.Parse(symbol.Groups[1].ValueSpan, NumberStyles.HexNumber, CultureInfo.InvariantCulture);
        string line = Command.Tool("addr2line", "-e", symbols, $"0x{address + offset - 1:x}");
        Assert.EndsWith($"sample.cs:{SampleProject.ThrowLine}", line.Trim().Split(" (")[0], StringComparison.Ordinal);
    }

    [Fact]
    public void LineNumbersOfTheFrameworkSurvive() =>
        Assert.Equal(FrameworkLines(machine.Stock), FrameworkLines(machine.Published));

    [Fact]
    public void DotnetRunStaysWithTheCollector()
    {
        var project = new SampleProject(machine);
        CommandResult run = project.Dotnet("run");
        Assert.True(run.ExitCode == 0, run.Output);
        Assert.Contains("manual: False", run.Output, StringComparison.Ordinal);
        Assert.Contains("unreachable: False False", run.Output, StringComparison.Ordinal);
    }

    [Fact]
    public void DotnetRunDeletesAsFreeholdDoes()
    {
        // What each object's finalizer did; the second deletion of one whose finalizer threw frees it, a third is a mistake.
        const string Source = """
            using System;
            var suppressed = new Finalizable("suppressed");
            GC.SuppressFinalize(suppressed);
            Heap.Delete(suppressed);
            Heap.Delete(new Finalizable("runs"));
            var throws = new Finalizable("throws");
            try { Heap.Delete(throws); } catch (InvalidOperationException) { Console.WriteLine("= thrown"); }
            Heap.Delete(throws);
            try { Heap.Delete(throws); } catch (DoubleDeleteException) { Console.WriteLine("= twice"); }

            sealed class Finalizable(string name)
            {
                ~Finalizable()
                {
                    Console.WriteLine("= " + name);
                    if (name == "throws") throw new InvalidOperationException();
                }
            }
            """;
        var project = new SampleProject(machine, source: Source);
        CommandResult run = project.Dotnet("run");
        Assert.True(run.ExitCode == 0, run.Output);
        // Warnings of the build may come before.
        Assert.Equal(["= runs", "= throws", "= thrown", "= twice"], run.Output.Split('\n').Where(line => line.StartsWith("= ", StringComparison.Ordinal)).Select(line => line.Trim()));
    }

    [Fact]
    public void AReferenceThroughALibraryIsEnough()
    {
        var library = new SampleProject(machine, "<OutputType>Library</OutputType>", source: "public static class Library { public static bool IsManual => System.Heap.IsManual; }");
        var project = new SampleProject(
            machine,
            items: $"""<PackageReference Remove="Freehold" /><ProjectReference Include="{library.Folder}/sample.csproj" SetTargetFramework="TargetFramework=net10.0" />""",
            source: """System.Console.WriteLine($"manual: {Library.IsManual}");""");
        File.Move(Path.Combine(library.Folder, "sample.csproj"), Path.Combine(library.Folder, "library.csproj"));
        string projectFile = Path.Combine(project.Folder, "sample.csproj");
        File.WriteAllText(projectFile, File.ReadAllText(projectFile).Replace($"{library.Folder}/sample.csproj", $"{library.Folder}/library.csproj", StringComparison.Ordinal));
        CommandResult publish = project.Publish();
        Assert.True(publish.ExitCode == 0, publish.Output);
        Assert.Contains("manual: True", project.Run().Output, StringComparison.Ordinal);
    }

    [Fact]
    public void PropertiesReachTheRuntime()
    {
        var project = new SampleProject(machine, "<FreeholdHeapLimit>512M</FreeholdHeapLimit><FreeholdProtection>mprotect</FreeholdProtection><FreeholdDebug>stacks</FreeholdDebug>");
        Assert.Equal(0, project.Publish().ExitCode);
        string arguments = File.ReadAllText(Path.Combine(project.Folder, "obj/Release/net10.0/linux-x64/native/sample.ilc.rsp"));
        Assert.Contains("--runtimeknob:System.Heap.Limit=512M", arguments, StringComparison.Ordinal);
        Assert.Contains("--runtimeknob:System.Heap.Protection=mprotect", arguments, StringComparison.Ordinal);
        Assert.Contains("--runtimeknob:System.Heap.Debug=stacks", arguments, StringComparison.Ordinal);
        AssertRuns(project, manual: true);
    }

    /// <summary>Runs the sample and checks all of its output but the stack trace's addresses.</summary>
    internal static void AssertRuns(SampleProject project, bool manual)
    {
        CommandResult run = project.Run();
        Assert.True(run.ExitCode == 0, run.Output);
        Assert.Contains($"manual: {manual}", run.Output, StringComparison.Ordinal);
        Assert.Contains("sum: 49995000", run.Output, StringComparison.Ordinal);
        Assert.Contains("at Thrower.Throw()", run.Output, StringComparison.Ordinal);
    }

    private static string[] StockCollectorSymbols(SampleProject project) =>
        [.. Command.Tool("nm", "--demangle", project.Executable + ".dbg").Split('\n').Where(line => CollectorSymbol().IsMatch(line))];

    /// <summary>File and line at the start of some methods of the framework that every program has.</summary>
    private static List<string> FrameworkLines(SampleProject project)
    {
        string symbols = project.Executable + ".dbg";
        var lines = new List<string>();
        foreach (Match match in FrameworkSymbol().Matches(Command.Tool("nm", symbols)))
        {
            lines.Add(match.Groups[2].Value + " " + Path.GetFileName(Command.Tool("addr2line", "-e", symbols, "0x" + match.Groups[1].Value).Trim()));
        }

        Assert.NotEmpty(lines);
        Assert.DoesNotContain(lines, line => line.Contains("??", StringComparison.Ordinal));
        lines.Sort(StringComparer.Ordinal);
        return lines;
    }

    [GeneratedRegex(@"at Thrower\.Throw\(\) \+ 0x([0-9a-f]+)")]
    private static partial Regex ThrowFrame();

    [GeneratedRegex(@"^([0-9a-f]+) [tT] \w*Thrower__Throw$", RegexOptions.Multiline)]
    private static partial Regex ThrowSymbol();

    [GeneratedRegex(@"^([0-9a-f]+) [tT] (S_P_CoreLib_System_Number__UInt32ToDecStr\w*|S_P_CoreLib_System_Text_UTF8Encoding__\w+|S_P_CoreLib_System_Collections_\w+__Resize\w*)$", RegexOptions.Multiline)]
    private static partial Regex FrameworkSymbol();

    [GeneratedRegex(@"\b(WKS|SVR)::|\bgc_heap\b|\bGCToEEInterface_init\b")]
    private static partial Regex CollectorSymbol();
}
