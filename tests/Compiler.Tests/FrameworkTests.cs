using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Text.Json;
using Freehold.Rewriter;
using Freehold.Rewriter.Importing;
using Mono.Cecil;
using Mono.Cecil.Cil;
using Xunit;

namespace Freehold.Compiler.Tests;

/// <summary>The passes over the real framework of the main version.</summary>
public sealed class MainFrameworkTests(MainFramework framework) : FrameworkTests(framework), IClassFixture<MainFramework>
{
    /// <inheritdoc/>
    protected override int Assemblies => 175;

    /// <inheritdoc/>
    protected override string[] Statistics => ["ExceptionMapping: 1 = 1 + 0", "HandleReads: 2 = 2 + 0", "SyncEntry: 5 = 5 + 0", "OwnedParts: 80 = 80 + 0", "OutgrownArrays: 14 = 14 + 0", "SharedObjects: 3274 = 3254 + 20", "BlockingImports: 2 = 2 + 0", "BlockMoves: 4 = 2 + 2", "StringHashes: 4 = 4 + 0", "ReferencesForPointers: 11 = 11 + 0", "LockEntries: 9 = 9 + 0", "NativeCallPins: 0 = 0 + 0", "NativeDelegatePins: 47 = 1 + 46", "ReflectedCallPins: 9 = 9 + 0", "TypeIdentity: 2 = 2 + 0", "BoxedContents: 1 = 1 + 0", "ObjectIdentity: 4458 = 3409 + 1049", "ReferenceComparisons: 226 = 56 + 170", "CurrentPointers: 97 = 47 + 50", "CompareExchange: 385 = 191 + 194", "TouchBeforePin: 2194 = 1284 + 910", "NumberAudit: 2380 = 0 + 2380"];

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
    protected override int Assemblies => 173;

    /// <inheritdoc/>
    protected override string[] Statistics => ["ExceptionMapping: 1 = 1 + 0", "HandleReads: 3 = 2 + 1", "SyncEntry: 5 = 5 + 0", "OwnedParts: 80 = 80 + 0", "OutgrownArrays: 14 = 14 + 0", "SharedObjects: 3015 = 2994 + 21", "BlockingImports: 2 = 2 + 0", "BlockMoves: 4 = 4 + 0", "StringHashes: 4 = 4 + 0", "ReferencesForPointers: 11 = 11 + 0", "LockEntries: 9 = 9 + 0", "NativeCallPins: 0 = 0 + 0", "NativeDelegatePins: 40 = 1 + 39", "ReflectedCallPins: 9 = 9 + 0", "TypeIdentity: 2 = 2 + 0", "BoxedContents: 1 = 1 + 0", "ObjectIdentity: 4370 = 3356 + 1014", "ReferenceComparisons: 215 = 51 + 164", "CurrentPointers: 80 = 44 + 36", "CompareExchange: 389 = 191 + 198", "TouchBeforePin: 2088 = 1228 + 860", "NumberAudit: 2258 = 0 + 2258"];
}

/// <summary>The passes over the real framework of a supported version.</summary>
public abstract class FrameworkTests(RewrittenFramework framework)
{
    /// <summary>How the version calls members of Buffer.</summary>
    protected FrameworkNames Names { get; } = FrameworkNames.Read(framework.Official.Names);

    /// <summary>How many assemblies it has.</summary>
    protected abstract int Assemblies { get; }

    /// <summary>What each pass saw: sites = rewritten + skipped.</summary>
    protected abstract string[] Statistics { get; }

    [Fact]
    public void The_tool_succeeds() => Assert.Equal(0, framework.ExitCode);

    /// <summary>Heap.Delete gives entries of the table of locks back at any time, and a search deletes objects that nothing reaches.</summary>
    [Fact]
    public void Who_reads_the_table_of_locks_keeps_the_object_and_asks_its_header_again()
    {
        string[] compared = ["SyncTable::GetHashCode(", "SyncTable::SetHashCode(", "Lock::TryEnterOneShot(", "Lock::TryEnterSlow(", "Lock::GetIsHeldByCurrentThread("];
        int reads = 0;
        foreach (MethodDefinition method in new[] { "System.Threading.ObjectHeader", "System.Threading.Monitor" }
            .SelectMany(type => framework.CoreLib.GetType(type).Methods).Where(method => method.HasBody && method.Parameters.Any(parameter => parameter.ParameterType.FullName == "System.Object")))
        {
            foreach (Instruction instruction in method.Body.Instructions.Where(instruction => instruction.Operand is MethodReference))
            {
                string called = ((MethodReference)instruction.Operand).FullName;
                Assert.DoesNotContain(compared, name => called.Contains(name, StringComparison.Ordinal));
                if (called.Contains("SyncTable::GetLockObject(", StringComparison.Ordinal))
                {
                    reads++;
                    Assert.Equal(OpCodes.Ldarg_0, instruction.Next.OpCode);
                    Assert.Equal("System.Void System.GC::KeepAlive(System.Object)", ((MethodReference)instruction.Next.Next.Operand).FullName);
                }
            }
        }

        Assert.Equal(7, reads);
    }

    [Theory]
    [InlineData("ExceptionMapping", "System.Runtime.EH", "RhThrowHwEx")]
    [InlineData("HandleReads.Get", "System.Runtime.RuntimeImports", "RhHandleGet")]
    [InlineData("HandleReads.GetDependent", "System.Runtime.RuntimeImports", "RhHandleGetDependent")]
    [InlineData("SyncEntry.Release", "System.Threading.SyncTable", "FreeholdReleaseSyncEntry")]
    [InlineData("SyncEntry.ReleaseOfDead", "System.Threading.SyncTable", "FreeholdReleaseDeadLocks")]
    [InlineData("SyncEntry.Finalizers", "System.Runtime.__Finalizer", "DrainQueue")]
    [InlineData("SyncEntry.Assign", "System.Threading.SyncTable", "AssignEntry")]
    [InlineData("PinningAttribute.Function", "System.Reflection.Runtime.MethodInfos.RuntimeMethodInfo", "get_LdFtnResult")]
    [InlineData("PinningAttribute.Find", InjectedRuntime.FullName, "PinningAddress")]
    [InlineData("PinningAttribute.List", "System.Reflection.Runtime.MethodInfos.RuntimeNamedMethodInfo`1", "get_CustomAttributes")]
    [InlineData("PinningAttribute.Lists", InjectedRuntime.FullName, "WithoutPins")]
    [InlineData("PinningAttribute.Types", InjectedRuntime.FullName, "VisibleTypes")]
    [InlineData("PinningAttribute.Delegate", InjectedRuntime.FullName, "MarkReflected")]
    [InlineData("BlockingImports.Approach", "System.Runtime.RuntimeImports", "RhWaitForFullGCApproach")]
    [InlineData("BlockingImports.Complete", "System.Runtime.RuntimeImports", "RhWaitForFullGCComplete")]
    [InlineData("ObjectIdentity.ReferenceEquals", "System.Object", "ReferenceEquals")]
    [InlineData("ObjectIdentity.ArrayStore", "System.Runtime.TypeCast", "StelemRef")]
    [InlineData("TypeIdentity.Equality", "System.Type", "op_Equality")]
    [InlineData("TypeIdentity.Initialize", "System.Reflection.Runtime.TypeInfos.RuntimeTypeInfo", "InitializeType")]
    [InlineData("ReferenceComparisons.AreSame", "System.Runtime.CompilerServices.Unsafe", "AreSame")]
    [InlineData("ReferenceComparisons.ByteOffset", "System.Runtime.CompilerServices.Unsafe", "ByteOffset")]
    [InlineData("ReferenceComparisons.IsAddressLessThan", "System.Runtime.CompilerServices.Unsafe", "IsAddressLessThan")]
    [InlineData("CurrentPointers.AsPointer", "System.Runtime.CompilerServices.Unsafe", "AsPointer")]
    [InlineData("ReferenceComparisons.Memmove", "System.SpanHelpers", "Memmove")]
    [InlineData("ReferenceComparisons.BulkMove", "System.Buffer", "BulkMoveWithWriteBarrier")]
    [InlineData("CurrentPointers.Digits", "System.Number/NumberBuffer", "get_DigitsPtr")]
    [InlineData("ReferencesForPointers.Header", "System.Threading.ObjectHeader", "TryGetHashCode")]
    [InlineData("ReferencesForPointers.Release", "System.Threading.ObjectHeader", "Release")]
    [InlineData("ReferencesForPointers.Assign", "System.Threading.ObjectHeader", "AssignHashCode")]
    public void Method_is_as_the_golden_text_says(string golden, string type, string method) =>
        Verify(golden, framework.CoreLib.GetType(type).Methods.Single(candidate => candidate.Name == method));

    [Fact]
    public void Who_waits_is_counted_until_it_has_the_lock_again() =>
        Verify("SyncEntry.Wait", framework.CoreLib.GetType("System.Threading.Condition").Methods.Single(method => method.Name == "Wait" && method.Parameters.Count == 2 && method.Parameters[0].ParameterType.FullName == "System.Int32"));

    [Theory]
    [InlineData("OwnedParts.Object", "sdk/System.Private.CoreLib", "System.Object")]
    [InlineData("OwnedParts.Dispatch", "sdk/System.Private.CoreLib", InjectedRuntime.FullName, "CollectParts")]
    [InlineData("OwnedParts.List", "sdk/System.Private.CoreLib", "System.Collections.Generic.List`1")]
    [InlineData("OwnedParts.Condition", "sdk/System.Private.CoreLib", "System.IO.MemoryStream")]
    [InlineData("OwnedParts.Chain", "framework/System.Collections", "System.Collections.Generic.LinkedList`1")]
    [InlineData("OwnedParts.Nothing", "framework/System.Collections", "System.Collections.Generic.SortedSet`1/TreeSubSet")]
    [InlineData("OwnedParts.Structures", "framework/System.Collections.Concurrent", "System.Collections.Concurrent.ConcurrentDictionary`2/Tables")]
    [InlineData("OutgrownArrays.Store", "sdk/System.Private.CoreLib", "System.Collections.Generic.List`1", "GrowForInsertion")]
    [InlineData("OutgrownArrays.Resize", "framework/System.Collections", "System.Collections.Generic.Stack`1", "Grow")]
    [InlineData("OwnedParts.ChainOfKin", "framework/System.Private.Xml", "System.Xml.XmlElement")]
    [InlineData("OwnedParts.Cast", "framework/System.Private.Xml", "System.Xml.XmlNamedNodeMap")]
    [InlineData("OwnedParts.ChainOfCast", "framework/System.Private.Xml.Linq", "System.Xml.Linq.XContainer")]
    [InlineData("OwnedParts.Conditions", "framework/System.Security.Cryptography", "System.Security.Cryptography.CryptoStream")]
    [InlineData("OwnedParts.Inner", "sdk/System.Private.CoreLib", "System.Threading.ReaderWriterLockSlim")]
    [InlineData("OwnedParts.Derived", "framework/System.Text.RegularExpressions", "System.Text.RegularExpressions.Match")]
    public void Types_name_their_parts(string golden, string assembly, string type, string method = "FreeholdCollectParts")
    {
        using ModuleDefinition module = ModuleDefinition.ReadModule(Path.Combine(framework.Output, assembly + ".dll"));
        Verify(golden, module.GetType(type).Methods.Single(candidate => candidate.Name == method));
    }

    /// <summary>Or it stores nothing, or an argument of a method that the program can call.</summary>
    [Fact]
    public void Whoever_stores_an_object_in_a_static_marks_it_before()
    {
        int stores = 0;
        foreach (string path in Directory.EnumerateFiles(framework.Output, "*.dll", SearchOption.AllDirectories))
        {
            using ModuleDefinition module = ModuleDefinition.ReadModule(path);
            foreach (MethodDefinition method in module.GetTypes().Where(type => type.FullName != InjectedRuntime.FullName).SelectMany(type => type.Methods).Where(method => method.HasBody))
            {
                foreach (Instruction store in method.Body.Instructions.Where(instruction => instruction.OpCode.Code == Code.Stsfld && ((FieldReference)instruction.Operand).FieldType is ArrayType or { MetadataType: MetadataType.String or MetadataType.Object or MetadataType.Class }))
                {
                    if (((FieldReference)store.Operand).Resolve().CustomAttributes.Any(attribute => attribute.AttributeType.Name == "ThreadStaticAttribute"))
                    {
                        continue;  // a thread's own
                    }

                    Instruction before = store.Previous.OpCode.OpCodeType == OpCodeType.Prefix ? store.Previous.Previous : store.Previous;
                    bool marked = before.Operand is MethodReference { Name: "Share" or "ShareElements", DeclaringType.FullName: InjectedRuntime.FullName };
                    bool given = before.OpCode.Code is Code.Ldarg or Code.Ldarg_0 or Code.Ldarg_1 or Code.Ldarg_2 or Code.Ldarg_3 or Code.Ldarg_S;
                    Assert.True(marked || given || before.OpCode.Code == Code.Ldnull, $"{method.FullName}: {store}");
                    stores += marked ? 1 : 0;
                }
            }
        }

        Assert.True(stores > 1_500, $"{stores} stores");
    }

    [Theory]
    [InlineData("SharedObjects.Element", "System.Number", "<UInt32ToDecStrForKnownSmallNumber>g__CreateAndCacheString")]
    [InlineData("SharedObjects.Result", "System.String", "Intern")]
    [InlineData("SharedObjects.Arguments", "System.Environment", "GetEnvironmentVariables")]
    public void Objects_for_all_are_marked(string golden, string type, string method) =>
        Verify(golden, framework.CoreLib.GetType(type).Methods.Single(candidate => (candidate.Name == method || (method[0] == '<' && candidate.Name.StartsWith(method, System.StringComparison.Ordinal))) && candidate.Parameters.All(parameter => parameter.ParameterType.Name != "EnvironmentVariableTarget")));

    [Fact]
    public void A_type_of_the_table_that_no_assembly_has_is_an_error()
    {
        RewriteException failure = Assert.Throws<RewriteException>(() => Freehold.Rewriter.Passes.OwnedParts.RequireAll(new PassStatistics("OwnedParts")));
        Assert.Contains(OwnedPartsTable.Rows[0].Type, failure.Message, StringComparison.Ordinal);
        failure = Assert.Throws<RewriteException>(() => Freehold.Rewriter.Passes.OutgrownArrays.RequireAll(new PassStatistics("OutgrownArrays")));
        Assert.Contains(OutgrownArraysTable.Rows[0].Type, failure.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("Move")]
    [InlineData("Zero")]
    [InlineData("BulkMove")]
    public void Block_moves_go_by_pieces_and_pin_nothing(string golden)
    {
        string name = golden switch { "Move" => Names.MoveByReference, "Zero" => Names.FillByReference, _ => Names.MoveOfReferencesInChunks };
        Verify("BlockMoves." + golden, framework.CoreLib.GetType("System.Buffer").Methods.Single(method => method.Name == name && method.Parameters[0].ParameterType.IsByReference));
    }

    [Fact]
    public void Spans_of_elements_with_an_Equals_are_the_same_by_their_current_names() =>
        Verify("ReferenceComparisons.SequenceEqual", framework.CoreLib.GetType("System.SpanHelpers").Methods
            .Single(method => method is { Name: "SequenceEqual", HasGenericParameters: true }));

    [Fact]
    public void Whatever_exchanges_objects_ends_in_the_exchange_that_knows_names()
    {
        MethodDefinition[] methods = [.. framework.CoreLib.GetType("System.Threading.Interlocked").Methods
            .Where(method => method.Name == "CompareExchange" && (method.HasGenericParameters || method.ReturnType.FullName == "System.Object"))];
        Assert.Equal(2, methods.Length);
        Golden.Verify("CompareExchange.Interlocked", string.Concat(methods.OrderBy(method => method.HasGenericParameters).Select(IlText.Format)), framework.Official.Version);
    }

    [Fact]
    public void Contents_of_boxes_are_not_compared_as_words()
    {
        MethodDefinition import = framework.CoreLib.GetType("System.Runtime.RuntimeImports").Methods.Single(method => method.Name == "RhCompareObjectContentsAndPadding");
        CustomAttribute attribute = Assert.Single(import.CustomAttributes, candidate => candidate.AttributeType.Name == "RuntimeImportAttribute");
        Assert.Equal("FreeholdSameContents", attribute.ConstructorArguments[^1].Value);
    }

    // What the compiler replaces by its name would never run the body that knows names; and what folds typeof(A) == typeof(B) must stay one of these.
    [Fact]
    public void Methods_that_know_names_are_no_intrinsics()
    {
        IEnumerable<MethodDefinition> ofUnsafe = framework.CoreLib.GetType("System.Runtime.CompilerServices.Unsafe").Methods
            .Where(method => method.Name is "AreSame" or "ByteOffset" or "AsPointer" || method.Name.StartsWith("IsAddress", StringComparison.Ordinal));
        Assert.InRange(ofUnsafe.Count(), 5, 7);
        Assert.All(ofUnsafe, method => Assert.False(IsIntrinsic(method)));
        Assert.True(framework.CoreLib.GetType("System.Type").Methods.Where(method => method.Name is "op_Equality" or "op_Inequality").All(IsIntrinsic));

        static bool IsIntrinsic(MethodDefinition method) => method.CustomAttributes.Any(attribute => attribute.AttributeType.Name == "IntrinsicAttribute");
    }

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
    public void All_of_the_injected_runtime_is_used()
    {
        string[] written = [.. ImportSource.InjectedRuntime().Module.GetTypes().SelectMany(type => type.Methods)
            .Where(method => !ImportSource.IsDeclaration(method) && ImportSource.InstructionOf(method) is null && !ImportSource.IsMark(method.DeclaringType)).Select(method => method.FullName)];
        Assert.True(written.Length > 20, $"{written.Length} methods");
        Assert.Empty(written.Except(framework.CoreLib.GetTypes().SelectMany(type => type.Methods).Select(method => method.FullName)));
    }

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
                // CoreLib has two more: what the passes call, and what the attributes of P/Invokes derive from.
                Assert.Equal(before.Types.Count + (Path.GetFileName(original) == "System.Private.CoreLib.dll" ? 2 : 0) + (module.GetType("<Freehold>") is null ? 0 : 1), module.Types.Count);
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

    // NativeCallPins looks for calls of other assemblies' P/Invokes in applications alone.
    [Fact]
    public void No_assembly_calls_a_native_method_of_another()
    {
        using DefaultAssemblyResolver resolver = new();
        resolver.AddSearchDirectory(framework.Official.Sdk);
        resolver.AddSearchDirectory(framework.Official.Assemblies);
        int resolved = 0;
        foreach (string path in Directory.EnumerateFiles(framework.Official.Sdk, "*.dll").Concat(Directory.EnumerateFiles(framework.Official.Assemblies, "*.dll")))
        {
            using ModuleDefinition module = ModuleDefinition.ReadModule(path, new ReaderParameters { AssemblyResolver = resolver });
            foreach (MethodReference member in module.GetMemberReferences().OfType<MethodReference>().Where(member => !member.HasThis))
            {
                MethodDefinition? found = member.Resolve();
                resolved += found is null ? 0 : 1;
                Assert.False(found is { IsPInvokeImpl: true }, $"{module.Name} refers to {member}");
            }
        }

        Assert.True(resolved > 5000, $"{resolved} methods");
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
