using System;
using System.IO;
using System.Linq;
using System.Reflection.Metadata;
using System.Reflection.PortableExecutable;
using Freehold.Compiler.Fixtures;
using Freehold.Rewriter;
using Mono.Cecil;
using Mono.Cecil.Cil;
using Xunit;
using ModuleDefinition = Mono.Cecil.ModuleDefinition;
using MethodDefinition = Mono.Cecil.MethodDefinition;
using TypeDefinition = Mono.Cecil.TypeDefinition;

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
    [InlineData(nameof(Identity.Delegates))]
    [InlineData(nameof(Identity.DerivedDistance))]
    [InlineData(nameof(Identity.Types))]
    [InlineData(nameof(Identity.Words))]
    [InlineData(nameof(Identity.WordsByPointer))]
    [InlineData(nameof(Identity.LongAddresses))]
    public void Identity_is_immune_to_moving(string method) => VerifyGolden(typeof(Identity), method);

    [Theory]
    [InlineData(nameof(NativeCalls.CallArray))]
    [InlineData(nameof(NativeCalls.CallReferences))]
    [InlineData(nameof(NativeCalls.CallLayout))]
    [InlineData(nameof(NativeCalls.CallWide))]
    [InlineData(nameof(NativeCalls.CallInLoop))]
    [InlineData(nameof(NativeCalls.CallBeforeTailCall))]
    [InlineData(nameof(NativeCalls.CallNothing))]
    [InlineData(nameof(NativeCalls.Call))]
    [InlineData(nameof(NativeCalls.CallOfPointers))]
    [InlineData(nameof(NativeCalls.CallAccessor))]
    [InlineData(nameof(NativeCalls.CallGeneric))]
    [InlineData(nameof(NativeCalls.MakeDelegate))]
    [InlineData(nameof(NativeCalls.MakeGenericDelegate))]
    public void Arguments_of_native_calls_are_pinned(string method) => VerifyGolden(typeof(NativeCalls), method);

    [Theory]
    [InlineData("Plain", nameof(Owned.Plain))]
    [InlineData("Generic", "Generic`1")]
    [InlineData("Derived", nameof(Owned.Derived))]
    public void Types_with_owned_fields_name_them(string golden, string type)
    {
        using ModuleDefinition module = Rewrite();
        Golden.Verify("Owned." + golden, IlText.Format(module.GetType(typeof(Owned).FullName + "/" + type).Methods.Single(candidate => candidate.Name == "FreeholdCollectParts")));
    }

    [Theory]
    [InlineData("Number")]
    [InlineData("Static")]
    [InlineData("Any")]
    public void A_mark_on_a_field_that_can_own_nothing_is_an_error(string field)
    {
        string wrong = Path.Combine(_root, "wrong.dll"), output = Path.Combine(_root, "out", "wrong.dll");
        Directory.CreateDirectory(Path.GetDirectoryName(output)!);
        using (ModuleDefinition module = ModuleDefinition.ReadModule(_input))
        {
            TypeDefinition type = module.GetType(typeof(Owned).FullName + "/Unmarked`1");
            MethodDefinition constructor = module.GetType("System.OwnedAttribute").Methods.Single(method => method.IsConstructor);
            type.Fields.Single(candidate => candidate.Name == field).CustomAttributes.Add(new Mono.Cecil.CustomAttribute(constructor));
            module.Write(wrong);
        }

        using StringWriter errors = new();
        TextWriter before = Console.Error;
        Console.SetError(errors);
        try
        {
            Assert.Equal(1, Program.Main(["--application", wrong, "--output", output]));
        }
        finally
        {
            Console.SetError(before);
        }

        Assert.Contains($"::{field} is marked [Owned]", errors.ToString(), StringComparison.Ordinal);
        Assert.False(File.Exists(output));
    }

    [Fact]
    public void A_native_implementation_of_an_interface_pins()
    {
        using ModuleDefinition module = Rewrite();
        MethodDefinition method = Assert.Single(module.GetType(typeof(NativeCalls.Importer).FullName!.Replace('+', '/')).Methods, method => method.HasOverrides);
        Assert.Equal(nameof(NativeCalls.IImporter.Sum), Assert.Single(method.Overrides).Name);
        Golden.Verify("NativeCalls.Implementation", IlText.Format(method));
    }

    [Fact]
    public void A_native_method_stays_as_it_is()
    {
        using ModuleDefinition module = Rewrite(), original = ModuleDefinition.ReadModule(_input);
        string[] Natives(ModuleDefinition of) => [.. of.GetType(typeof(NativeCalls).FullName).Methods.Where(method => method.IsPInvokeImpl).Select(method => IlText.Format(method)
            + string.Concat(method.Parameters.Select(parameter => $"{parameter.Name} {parameter.Attributes} {parameter.MarshalInfo?.NativeType}\n")) + method.MethodReturnType.MarshalInfo?.NativeType)];
        Assert.Equal(Natives(original), Natives(module));
        Assert.NotEmpty(Natives(module));
        Assert.DoesNotContain(module.GetTypes().Where(type => type.Name != "<Freehold>").SelectMany(type => type.Methods), method => method.Name.StartsWith("<native>", StringComparison.Ordinal));
    }

    // Reflection finds the method that pins by an attribute of a type of its own.
    [Fact]
    public void A_native_method_with_arguments_to_pin_names_the_method_that_pins()
    {
        using ModuleDefinition module = Rewrite();
        MethodDefinition[] natives = [.. module.GetTypes().SelectMany(type => type.Methods).Where(method => method.IsPInvokeImpl)];
        static Mono.Cecil.CustomAttribute[] Pins(MethodDefinition method) => [.. method.CustomAttributes.Where(attribute => attribute.AttributeType.Resolve() is { BaseType.Name: "FreeholdPins" })];
        Assert.All(natives, method => Assert.Equal(method.Name is "Pointer" or "Delegate" or "Copied" or "Defaults" ? 0 : 1, Pins(method).Length));
        TypeDefinition[] types = [.. natives.SelectMany(Pins).Select(attribute => attribute.AttributeType.Resolve())];
        Assert.Equal(types.Length, types.Distinct().Count());
        Assert.All(types, type => Assert.Equal("<Freehold>", type.DeclaringType.Name));

        // Delegates of the P/Invoke's own types pin arrays and refs, not texts and classes with a layout.
        string Of(string native) => IlText.Format(Pins(natives.Single(method => method.Name == native))[0].AttributeType.Resolve().Methods.Single(method => method.Name == "Address"));
        Golden.Verify("PinningAttribute.Array", Of(nameof(NativeCalls.Array)));
        Golden.Verify("PinningAttribute.Layout", Of(nameof(NativeCalls.Layout)));
    }

    [Fact]
    public void Methods_around_calls_are_hidden_and_not_inlined()
    {
        using ModuleDefinition module = Rewrite();
        TypeDefinition hidden = module.GetType("<Freehold>");
        Assert.All(hidden.Methods, method => Assert.True(method.NoInlining));
        Assert.All(hidden.Methods, method => Assert.Equal("System.Diagnostics.StackTraceHiddenAttribute", Assert.Single(method.CustomAttributes).AttributeType.FullName));
        Golden.Verify("Hidden", string.Concat(hidden.Methods.Select(IlText.Format)));
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
    [InlineData(nameof(NativeDelegates.MakeOfDelegate))]
    public void Arguments_of_delegates_that_may_be_native_are_pinned(string method) => VerifyGolden(typeof(NativeDelegates), method);

    // The prefix must stand before a call, and that before the return, whatever takes the call's place.
    [Fact]
    public void Tail_calls_stay_valid()
    {
        string tails = Path.Combine(_root, "tails.dll");
        using (ModuleDefinition module = ModuleDefinition.ReadModule(_input))
        {
            foreach (MethodDefinition method in module.GetTypes().SelectMany(type => type.Methods).Where(method => method.HasBody))
            {
                foreach (Instruction call in method.Body.Instructions.Where(instruction => instruction.OpCode.FlowControl == FlowControl.Call && instruction.OpCode != OpCodes.Newobj && instruction.Next?.OpCode == OpCodes.Ret).ToArray())
                {
                    Instruction copy = Instruction.Create(OpCodes.Nop);
                    (copy.OpCode, copy.Operand) = (call.OpCode, call.Operand);
                    (call.OpCode, call.Operand) = (OpCodes.Tail, null);
                    method.Body.Instructions.Insert(method.Body.Instructions.IndexOf(call) + 1, copy);
                }
            }

            module.Write(tails);
        }

        string output = Path.Combine(_root, "out", "tails.dll");
        Assert.Equal(0, Program.Main(["--application", tails, "--output", output]));
        using ModuleDefinition rewritten = ModuleDefinition.ReadModule(output);
        Instruction[] prefixes = [.. rewritten.GetTypes().SelectMany(type => type.Methods).Where(method => method.HasBody).SelectMany(method => method.Body.Instructions).Where(instruction => instruction.OpCode == OpCodes.Tail)];
        Assert.NotEmpty(prefixes);
        Assert.All(prefixes, prefix => Assert.True(prefix.Next.OpCode.Code is Code.Call or Code.Callvirt or Code.Calli && prefix.Next.Next.OpCode.Code == Code.Ret, $"{prefix.Next} {prefix.Next.Next}"));

        // No tail call of a method whose arguments this one holds, and the others are what they were.
        string Of(Type type, string method) => IlText.Format(rewritten.GetType(type.FullName).Methods.Single(candidate => candidate.Name == method));
        Assert.DoesNotContain("tail.", Of(typeof(NativeCalls), nameof(NativeCalls.CallArray)));
        Assert.DoesNotContain("tail.", Of(typeof(NativeCalls), nameof(NativeCalls.Call)));
        foreach ((Type type, string method) in new[] { (typeof(NativeDelegates), nameof(NativeDelegates.CallNumbers)), (typeof(Identity), nameof(Identity.Same)), (typeof(Identity), nameof(Identity.Exchange)), (typeof(Identity), nameof(Identity.Apart)), (typeof(Identity), nameof(Identity.AsPointer)) })
        {
            Assert.Contains("tail.", Of(type, method));
        }

        Golden.Verify("NativeDelegates.TailCall", Of(typeof(NativeDelegates), nameof(NativeDelegates.CallNumbers)));
    }

    [Fact]
    public void A_call_with_variable_arguments_names_the_definition()
    {
        Assert.Equal(0, Program.Main(["--application", _input, "--output", Output]));
        using PEReader file = new(File.OpenRead(Output));
        MetadataReader metadata = file.GetMetadataReader();
        System.Reflection.Metadata.MemberReference[] calls = [.. metadata.MemberReferences.Select(metadata.GetMemberReference).Where(member => new SignatureHeader(metadata.GetBlobBytes(member.Signature)[0]).CallingConvention == SignatureCallingConvention.VarArgs)];
        // One of each overload, by what it returns.
        Assert.Equal([0x08, 0x0A], calls.Select(call => (int)metadata.GetBlobBytes(metadata.GetMethodDefinition((MethodDefinitionHandle)call.Parent).Signature)[2]).Order());
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
    [InlineData("System.Runtime.RuntimeImports", "RhCompareObjectContentsAndPadding")]
    [InlineData("System.Type", "op_Equality")]
    [InlineData("System.Runtime.CompilerServices.Unsafe", "AsPointer")]
    public void A_member_of_another_version_is_an_error_that_names_it(string type, string member)
    {
        string sdk = AssertFailsWith(coreLib => coreLib.GetType(type).Methods.Single(method => method.Name == member).Name = member + "2", $"{type}::{member}");

        string output = Path.Combine(_root, "out");
        Assert.Equal(1, Program.Main(["--sdk", sdk, "--framework", OfficialFramework.Main.Assemblies, "--names", OfficialFramework.Main.Names, "--output", output]));
        Assert.Equal([sdk], Directory.GetFileSystemEntries(_root));
    }

    [Fact]
    public void A_type_object_that_is_made_otherwise_is_an_error() => AssertFailsWith(
        coreLib =>
        {
            TypeDefinition type = coreLib.GetType("System.RuntimeType");
            MethodBody body = coreLib.GetType("System.Object").Methods.Single(method => method.Name == "ReferenceEquals").Body;
            body.Instructions.Insert(0, Instruction.Create(OpCodes.Pop));
            body.Instructions.Insert(0, Instruction.Create(OpCodes.Newobj, type.Methods.Single(method => method.IsConstructor && method.Parameters[0].ParameterType.IsPointer)));
            body.Instructions.Insert(0, Instruction.Create(OpCodes.Conv_U));
            body.Instructions.Insert(0, Instruction.Create(OpCodes.Ldc_I4_0));
        },
        "types to be made of a RuntimeTypeInfo only");

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
