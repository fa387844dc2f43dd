using System.IO;
using System.Linq;
using System.Text.Json;
using Freehold.Rewriter;
using Mono.Cecil;
using Mono.Cecil.Cil;
using Xunit;

namespace Freehold.Compiler.Tests;

/// <summary>The passes over the real framework of the main version.</summary>
public sealed class MainFrameworkTests(MainFramework framework) : FrameworkTests(framework), IClassFixture<MainFramework>
{
    /// <inheritdoc/>
    protected override string MoveByReference => "MemmoveInternal";

    /// <inheritdoc/>
    protected override int Assemblies => 175;

    /// <inheritdoc/>
    protected override string[] Statistics => ["ExceptionMapping: 1 = 1 + 0", "HandleReads: 2 = 2 + 0", "SyncEntry: 2 = 2 + 0", "BlockingImports: 2 = 2 + 0", "BlockMoves: 2 = 2 + 0", "StringHashes: 4 = 4 + 0", "NativeCallPins: 0 = 0 + 0", "NativeDelegatePins: 47 = 1 + 46", "ObjectIdentity: 4452 = 3403 + 1049", "ReferenceComparisons: 228 = 57 + 171", "CurrentPointers: 97 = 59 + 38", "CompareExchange: 386 = 191 + 195", "TouchBeforePin: 2206 = 1281 + 925"];

    [Theory]
    [InlineData("TouchBeforePin.GenericHandle", ".ctor")]
    [InlineData("TouchBeforePin.GenericHandleTarget", "set_Target")]
    public void Generic_handle_that_pins_gets_its_target_from_a_pinned_local(string golden, string method) =>
        Golden.Verify(golden, IlText.Format(framework.CoreLib.GetType("System.Runtime.InteropServices.PinnedGCHandle`1").Methods
            .Single(candidate => candidate.Name == method && candidate.Parameters[0].ParameterType is GenericParameter)));
}

/// <summary>The passes over the real framework of the other version.</summary>
public sealed class OtherFrameworkTests(OtherFramework framework) : FrameworkTests(framework), IClassFixture<OtherFramework>
{
    /// <inheritdoc/>
    protected override string MoveByReference => "_Memmove";

    /// <inheritdoc/>
    protected override int Assemblies => 173;

    /// <inheritdoc/>
    protected override string[] Statistics => ["ExceptionMapping: 1 = 1 + 0", "HandleReads: 3 = 2 + 1", "SyncEntry: 2 = 2 + 0", "BlockingImports: 2 = 2 + 0", "BlockMoves: 2 = 2 + 0", "StringHashes: 4 = 4 + 0", "NativeCallPins: 0 = 0 + 0", "NativeDelegatePins: 40 = 1 + 39", "ObjectIdentity: 4364 = 3350 + 1014", "ReferenceComparisons: 215 = 50 + 165", "CurrentPointers: 80 = 42 + 38", "CompareExchange: 390 = 191 + 199", "TouchBeforePin: 2100 = 1225 + 875"];
}

/// <summary>The passes over the real framework of a supported version.</summary>
public abstract class FrameworkTests(RewrittenFramework framework)
{
    /// <summary>How the version calls the block move that pins.</summary>
    protected abstract string MoveByReference { get; }

    /// <summary>How many assemblies it has.</summary>
    protected abstract int Assemblies { get; }

    /// <summary>What each pass saw: sites = rewritten + skipped.</summary>
    protected abstract string[] Statistics { get; }

    [Fact]
    public void The_tool_succeeds() => Assert.Equal(0, framework.ExitCode);

    [Theory]
    [InlineData("ExceptionMapping", "System.Runtime.EH", "RhThrowHwEx")]
    [InlineData("HandleReads.Get", "System.Runtime.RuntimeImports", "RhHandleGet")]
    [InlineData("HandleReads.GetDependent", "System.Runtime.RuntimeImports", "RhHandleGetDependent")]
    [InlineData("SyncEntry.Release", "System.Threading.SyncTable", "FreeholdReleaseSyncEntry")]
    [InlineData("SyncEntry.Assign", "System.Threading.SyncTable", "AssignEntry")]
    [InlineData("BlockingImports.Approach", "System.Runtime.RuntimeImports", "RhWaitForFullGCApproach")]
    [InlineData("BlockingImports.Complete", "System.Runtime.RuntimeImports", "RhWaitForFullGCComplete")]
    [InlineData("BlockMoves.Move", "System.Runtime.RuntimeImports", "memmove")]
    [InlineData("BlockMoves.Set", "System.Runtime.RuntimeImports", "memset")]
    [InlineData("ObjectIdentity.ReferenceEquals", "System.Object", "ReferenceEquals")]
    [InlineData("ObjectIdentity.ArrayStore", "System.Runtime.TypeCast", "StelemRef")]
    [InlineData("ReferenceComparisons.Memmove", "System.SpanHelpers", "Memmove")]
    [InlineData("ReferenceComparisons.BulkMove", "System.Buffer", "BulkMoveWithWriteBarrier")]
    [InlineData("TouchBeforePin.Header", "System.Threading.ObjectHeader", "TryGetHashCode")]
    public void Method_is_as_the_golden_text_says(string golden, string type, string method) =>
        Verify(golden, framework.CoreLib.GetType(type).Methods.Single(candidate => candidate.Name == method));

    [Fact]
    public void Block_move_keeps_its_pins() =>
        Verify("TouchBeforePin.BlockMove", framework.CoreLib.GetType("System.Buffer").Methods
            .Single(method => method.Name == MoveByReference && method.Parameters[0].ParameterType.IsByReference));

    [Theory]
    [InlineData("StringHashes.String", "GetNonRandomizedHashCode", 0)]
    [InlineData("StringHashes.Span", "GetNonRandomizedHashCodeOrdinalIgnoreCase", 1)]
    public void Hash_of_a_string_is_computed_without_a_pin(string golden, string method, int parameters) =>
        Verify(golden, framework.CoreLib.GetType("System.String").Methods
            .Single(candidate => candidate.Name == method && candidate.Parameters.Count == parameters));

    [Fact]
    public void Pinned_handle_gets_its_target_from_a_pinned_local() =>
        Verify("TouchBeforePin.HandleTarget", framework.CoreLib.GetType("System.Runtime.InteropServices.GCHandle").Methods
            .Single(method => method.Name == "set_Target"));

    [Fact]
    public void Pinned_handle_is_made_of_a_pinned_local() =>
        Verify("TouchBeforePin.Handle", framework.CoreLib.GetType("System.Runtime.InteropServices.GCHandle").Methods
            .Single(method => method.IsConstructor && method.Parameters.Count == 2));

    [Fact]
    public void Injected_class_is_as_the_golden_text_says() =>
        Golden.Verify("InjectedRuntime", string.Concat(framework.CoreLib.GetType(InjectedRuntime.FullName).Methods.OrderBy(method => method.Name).Select(IlText.Format)), framework.Official.Version);

    [Fact]
    public void Every_assembly_is_there_with_symbols_that_match()
    {
        int assemblies = 0, sequencePoints = 0;
        foreach ((string source, string name) in new[] { (framework.Official.Sdk, "sdk"), (framework.Official.Assemblies, "framework") })
        {
            foreach (string original in Directory.EnumerateFiles(source, "*.dll"))
            {
                string rewritten = Path.Combine(framework.Output, name, Path.GetFileName(original));
                // The portable reader throws when the id in the symbols is not the one in the assembly.
                using ModuleDefinition module = ModuleDefinition.ReadModule(rewritten, new ReaderParameters { ReadSymbols = true, SymbolReaderProvider = new PortablePdbReaderProvider() });
                using ModuleDefinition before = ModuleDefinition.ReadModule(original, new ReaderParameters { ReadSymbols = true, SymbolReaderProvider = new PortablePdbReaderProvider() });
                Assert.Equal(before.Types.Count + (Path.GetFileName(original) == "System.Private.CoreLib.dll" ? 1 : 0), module.Types.Count);
                sequencePoints += module.Types.SelectMany(type => type.Methods).Take(50).Sum(method => method.DebugInformation.SequencePoints.Count);
                assemblies++;
            }
        }

        Assert.Equal(Assemblies, assemblies);
        Assert.True(sequencePoints > 5000, $"{sequencePoints} sequence points");
    }

    [Fact]
    public void Unchanged_assemblies_are_copied_byte_for_byte() =>
        Assert.Equal(
            File.ReadAllBytes(Path.Combine(framework.Official.Assemblies, "System.Runtime.dll")),
            File.ReadAllBytes(Path.Combine(framework.Output, "framework", "System.Runtime.dll")));

    [Fact]
    public void Statistics_explain_every_site()
    {
        using JsonDocument document = JsonDocument.Parse(File.ReadAllText(framework.StatisticsFile));
        Assert.Equal(PassManifest.PatchSetId, document.RootElement.GetProperty("PatchSet").GetString());
        string[] passes = [.. document.RootElement.GetProperty("Passes").EnumerateArray().Select(pass =>
            $"{pass.GetProperty("Pass").GetString()}: {pass.GetProperty("Seen").GetInt32()} = {pass.GetProperty("Rewritten").GetInt32()} + {pass.GetProperty("Skipped").EnumerateObject().Sum(reason => reason.Value.GetInt32())}")];
        Assert.Equal(Statistics, passes);
    }

    [Fact]
    public void The_same_input_gives_the_same_bytes()
    {
        string again = framework.Output + ".again";
        using AssemblyRewriter rewriter = new([framework.Official.Sdk, framework.Official.Assemblies]);
        Directory.CreateDirectory(again);
        string name = "System.Private.Uri.dll";
        rewriter.Rewrite(Path.Combine(framework.Official.Assemblies, name), Path.Combine(again, name), AssemblyRole.Framework);
        Assert.Equal(File.ReadAllBytes(Path.Combine(framework.Output, "framework", name)), File.ReadAllBytes(Path.Combine(again, name)));
    }

    [Fact]
    public void Line_numbers_of_a_rewritten_method_survive()
    {
        MethodDefinition method = framework.CoreLib.GetType("System.Runtime.EH").Methods.Single(candidate => candidate.Name == "RhThrowHwEx");
        SequencePoint[] points = [.. method.DebugInformation.SequencePoints.Where(point => !point.IsHidden)];
        Assert.Contains("ExceptionHandling.cs", points[0].Document.Url);
        Assert.True(points.Length > 10 && points.Select(point => point.Offset).SequenceEqual(points.Select(point => point.Offset).Order()));
        // The last statement is the fail-fast after DispatchEx: its offset must have moved with the code that was put before it.
        Assert.Equal(method.Body.Instructions[^1].Offset, points[^1].Offset);
    }

    private void Verify(string golden, MethodDefinition method) => Golden.Verify(golden, IlText.Format(method), framework.Official.Version);
}
