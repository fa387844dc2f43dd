using System;
using System.IO;
using System.Linq;
using Freehold.Compiler.Fixtures;
using Freehold.Rewriter;
using Mono.Cecil;
using Mono.Cecil.Cil;
using Xunit;

namespace Freehold.Compiler.Tests;

/// <summary>The passes over application code.</summary>
public sealed class ApplicationTests : IDisposable
{
    private readonly string _root = Directory.CreateTempSubdirectory("freehold-application").FullName;
    private readonly string _input = typeof(Pins).Assembly.Location;

    private string Output => Path.Combine(_root, Path.GetFileName(_input));

    /// <inheritdoc/>
    public void Dispose() => Directory.Delete(_root, recursive: true);

    [Theory]
    [InlineData(nameof(Pins.Array))]
    [InlineData(nameof(Pins.String))]
    [InlineData(nameof(Pins.Span))]
    [InlineData(nameof(Pins.Reference))]
    [InlineData(nameof(Pins.StaticField))]
    [InlineData(nameof(Pins.Branches))]
    [InlineData(nameof(Pins.Nothing))]
    [InlineData(nameof(Pins.Pointer))]
    [InlineData(nameof(Pins.PointerOfLocal))]
    public void Pins_are_touched(string method) => VerifyGolden(typeof(Pins), method);

    [Theory]
    [InlineData(nameof(Identity.Equal))]
    [InlineData(nameof(Identity.NotEqual))]
    [InlineData(nameof(Identity.Branch))]
    [InlineData(nameof(Identity.Generic))]
    [InlineData(nameof(Identity.Substituted))]
    [InlineData(nameof(Identity.Call))]
    [InlineData(nameof(Identity.Handler))]
    [InlineData(nameof(Identity.Nothing))]
    [InlineData(nameof(Identity.Same))]
    [InlineData(nameof(Identity.Order))]
    [InlineData(nameof(Identity.Distance))]
    [InlineData(nameof(Identity.Cursor))]
    [InlineData(nameof(Identity.TwoRoots))]
    [InlineData(nameof(Identity.Reread))]
    [InlineData(nameof(Identity.Pinned))]
    [InlineData(nameof(Identity.Exchange))]
    [InlineData(nameof(Identity.ExchangeString))]
    [InlineData(nameof(Identity.ExchangeGeneric))]
    [InlineData(nameof(Identity.ExchangeNothing))]
    public void Identity_is_immune_to_moving(string method) => VerifyGolden(typeof(Identity), method);

    [Theory]
    [InlineData(nameof(NativeCalls.Array))]
    [InlineData("<native>" + nameof(NativeCalls.Array))]
    [InlineData(nameof(NativeCalls.References))]
    [InlineData(nameof(NativeCalls.Layout))]
    [InlineData(nameof(NativeCalls.Pointer))]
    [InlineData(nameof(NativeCalls.Delegate))]
    [InlineData(nameof(NativeCalls.Call))]
    [InlineData(nameof(NativeCalls.CallOfPointers))]
    public void Arguments_of_native_calls_are_pinned(string method) => VerifyGolden(typeof(NativeCalls), method);

    [Fact]
    public void The_native_method_keeps_what_the_marshaller_reads()
    {
        using ModuleDefinition module = Rewrite();
        TypeDefinition type = module.GetType(typeof(NativeCalls).FullName);
        MethodDefinition wrapper = type.Methods.Single(candidate => candidate.Name == nameof(NativeCalls.References));
        MethodDefinition native = type.Methods.Single(candidate => candidate.Name == "<native>" + nameof(NativeCalls.References));
        Assert.False(wrapper.IsPInvokeImpl);
        Assert.Equal(("libc", "other_name", true), (native.PInvokeInfo.Module.Name, native.PInvokeInfo.EntryPoint, native.PInvokeInfo.SupportsLastError));
        Assert.Equal([NativeType.LPStr, NativeType.None, NativeType.None], native.Parameters.Select(parameter => parameter.MarshalInfo?.NativeType ?? NativeType.None));
        Assert.Equal(NativeType.Boolean, native.MethodReturnType.MarshalInfo.NativeType);
        Assert.True(native.Parameters[2].IsOut);
    }

    [Fact]
    public void Wrapper_of_an_unmanaged_call_is_as_the_golden_text_says()
    {
        using ModuleDefinition module = Rewrite();
        TypeDefinition type = module.GetType(typeof(NativeCalls).FullName);
        MethodDefinition wrapper = type.Methods.Single(candidate => candidate.Name.StartsWith("<native>Call.", StringComparison.Ordinal));
        Assert.Equal("System.Diagnostics.StackTraceHiddenAttribute", Assert.Single(wrapper.CustomAttributes).AttributeType.FullName);
        Golden.Verify("NativeCalls.Native.Call", IlText.Format(wrapper));
    }

    [Fact]
    public void Wrappers_of_generic_unmanaged_calls_are_generic()
    {
        using ModuleDefinition module = Rewrite();
        TypeDefinition type = module.GetType(typeof(NativeCalls).FullName), generic = type.NestedTypes.Single(nested => nested.HasGenericParameters);
        Golden.Verify("NativeCalls.Generic", string.Concat(generic.Methods.Concat(type.Methods.Where(method => method.Name.Contains("CallGeneric", StringComparison.Ordinal))).Select(IlText.Format)));
    }

    [Theory]
    [InlineData(nameof(NativeDelegates.CallNumbers))]
    [InlineData(nameof(NativeDelegates.CallNumbersTwice))]
    [InlineData(nameof(NativeDelegates.CallWide))]
    [InlineData(nameof(NativeDelegates.CallMarked))]
    [InlineData(nameof(NativeDelegates.CallCopied))]
    [InlineData(nameof(NativeDelegates.CallRefused))]
    [InlineData(nameof(NativeDelegates.CallRefusedSpan))]
    [InlineData(nameof(NativeDelegates.CallGeneric))]
    [InlineData(nameof(NativeDelegates.CallOther))]
    public void Arguments_of_delegates_that_may_be_native_are_pinned(string method) => VerifyGolden(typeof(NativeDelegates), method);

    [Fact]
    public void A_type_has_one_method_for_each_type_of_delegate()
    {
        using ModuleDefinition module = Rewrite();
        TypeDefinition type = module.GetType(typeof(NativeDelegates).FullName), generic = type.NestedTypes.Single(nested => nested.HasGenericParameters && nested.Name.StartsWith("In", StringComparison.Ordinal));
        MethodDefinition[] added = [.. type.Methods.Concat(generic.Methods).Where(method => method.Name.StartsWith("<native>Invoke.", StringComparison.Ordinal))];
        Assert.All(added, method => Assert.Equal("System.Diagnostics.StackTraceHiddenAttribute", Assert.Single(method.CustomAttributes).AttributeType.FullName));
        Golden.Verify("NativeDelegates.Native", string.Concat(added.Append(generic.Methods.Single(method => method.Name == "Call")).Select(IlText.Format)));
    }

    [Fact]
    public void Symbols_are_rewritten_too()
    {
        using ModuleDefinition module = Rewrite();
        MethodDefinition method = module.GetType(typeof(Pins).FullName).Methods.Single(candidate => candidate.Name == nameof(Pins.Branches));
        Assert.EndsWith("Pins.cs", method.DebugInformation.SequencePoints.First().Document.Url);
        Assert.All(method.DebugInformation.SequencePoints, point => Assert.Contains(method.Body.Instructions, instruction => instruction.Offset == point.Offset));
    }

    [Theory]
    [InlineData(600)]
    [InlineData(4000)]
    public void An_error_leaves_nothing_behind(int bytes)
    {
        string damaged = Path.Combine(_root, "damaged.dll");
        File.WriteAllBytes(damaged, File.ReadAllBytes(_input)[..bytes]);
        Assert.Equal(1, Program.Main(["--application", damaged, "--output", Output]));
        Assert.Equal([damaged], Directory.GetFileSystemEntries(_root));
    }

    [Theory]
    [InlineData("System.Runtime.EH", "RhThrowHwEx")]
    [InlineData("System.Runtime.RuntimeImports", "RhHandleGet")]
    [InlineData("System.Threading.SyncTable", "AssignEntry")]
    [InlineData("System.Runtime.RuntimeImports", "RhWaitForFullGCApproach")]
    [InlineData("System.Runtime.RuntimeImports", "memmove")]
    [InlineData("System.SpanHelpers", "Memmove")]
    public void A_member_of_another_version_is_an_error_that_names_it(string type, string member)
    {
        string sdk = AssertFailsWith(coreLib => coreLib.GetType(type).Methods.Single(method => method.Name == member).Name = member + "2", $"{type}::{member}");

        string output = Path.Combine(_root, "out");
        Assert.Equal(1, Program.Main(["--sdk", sdk, "--framework", OfficialFramework.Main.Assemblies, "--names", OfficialFramework.Main.Names, "--output", output]));
        Assert.Equal([sdk], Directory.GetFileSystemEntries(_root));
    }

    // What StringHashes relies on in the methods that it unpins.
    [Theory]
    [InlineData(true, "neither local to have its address taken")]
    [InlineData(false, "neither local to have its address taken")]
    public void A_string_hash_whose_pointer_is_used_otherwise_is_an_error(bool pinned, string expected)
    {
        AssertFailsWith(
            coreLib =>
            {
                MethodBody body = coreLib.GetType("System.String").Methods.Single(method => method is { Name: "GetNonRandomizedHashCode", Parameters.Count: 0 }).Body;
                VariableDefinition local = body.Variables.Single(variable => pinned ? variable.IsPinned : variable.VariableType.IsPointer);
                body.Instructions.Insert(0, Instruction.Create(OpCodes.Pop));
                body.Instructions.Insert(0, Instruction.Create(OpCodes.Ldloca, local));
            },
            expected);
    }

    /// <summary>Changes CoreLib, which cannot be rewritten then. Returns the folder with the changed one.</summary>
    private string AssertFailsWith(Action<ModuleDefinition> change, string expected)
    {
        string sdk = Path.Combine(_root, "sdk");
        Directory.CreateDirectory(sdk);
        using (ModuleDefinition coreLib = ModuleDefinition.ReadModule(Path.Combine(OfficialFramework.Main.Sdk, "System.Private.CoreLib.dll")))
        {
            change(coreLib);
            coreLib.Write(Path.Combine(sdk, "System.Private.CoreLib.dll"));
        }

        using AssemblyRewriter rewriter = new([sdk, OfficialFramework.Main.Assemblies], FrameworkNames.Read(OfficialFramework.Main.Names));
        RewriteException error = Assert.Throws<RewriteException>(() => rewriter.Rewrite(Path.Combine(sdk, "System.Private.CoreLib.dll"), Output, AssemblyRole.CoreLib));
        Assert.Contains("System.Private.CoreLib", error.Message);
        Assert.Contains(expected, error.Message);
        Assert.False(File.Exists(Output));
        return sdk;
    }

    [Theory]
    [InlineData("--output", "x")]
    [InlineData("--sdk", "x", "--output", "y")]
    [InlineData("--application", "x")]
    [InlineData("--application", "x", "--output", "y", "--application", "z")]
    [InlineData("--sdk", "x", "--framework", "y", "--output", "z")]
    [InlineData("--sdk", "x", "--framework", "y", "--names", "n", "--output", "z", "--output", "z2")]
    [InlineData("--colour")]
    [InlineData("--output")]
    public void A_malformed_command_line_is_an_error(params string[] arguments) => Assert.Equal(1, Program.Main(arguments));

    private void VerifyGolden(Type fixture, string method)
    {
        using ModuleDefinition module = Rewrite();
        Golden.Verify($"{fixture.Name}.{method.Replace("<native>", "Native.")}", IlText.Format(module.GetType(fixture.FullName).Methods.Single(candidate => candidate.Name == method)));
    }

    private ModuleDefinition Rewrite()
    {
        Assert.Equal(0, Program.Main(["--application", _input, "--output", Output]));
        return ModuleDefinition.ReadModule(Output, new ReaderParameters { ReadSymbols = true, SymbolReaderProvider = new PortablePdbReaderProvider() });
    }
}
