using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using Freehold.Compiler.Fixtures;
using Freehold.Rewriter;
using Freehold.Rewriter.Passes;
using Mono.Cecil;
using Mono.Cecil.Cil;
using Xunit;

namespace Freehold.Compiler.Tests;

/// <summary>No number without a pin: what the audit says of an application and of the framework, and that what is pinned is pinned.</summary>
public sealed class NumberTests : IDisposable
{
    private readonly string _root = Directory.CreateTempSubdirectory("freehold-numbers").FullName;

    /// <inheritdoc/>
    public void Dispose() => Directory.Delete(_root, recursive: true);

    [Fact]
    public void An_application_is_warned_of_each_number_without_a_pin()
    {
        string output = Path.Combine(_root, "Fixtures.dll");
        Assert.Equal(0, Program.Main(["--application", typeof(Numbers).Assembly.Location, "--output", output]));
        string[] warnings = [.. File.ReadAllLines(output + AssemblyRewriter.WarningsExtension).Where(line => line.Contains("Fixtures.Numbers", StringComparison.Ordinal))];
        string[] named = [.. typeof(Numbers).GetMethods().Select(method => method.Name).Where(name => name.StartsWith("Unpinned", StringComparison.Ordinal)).Order()];
        Assert.Equal(named, warnings.Select(line => line.Split("::")[1].Split('(')[0]).Order());
        Assert.All(warnings, line => Assert.Matches(@"::Unpinned\w+\(.*\), IL_[0-9a-f]{4} \(Numbers\.cs:[0-9]+\)$", line));
    }

    [Fact]
    public void What_has_nothing_to_warn_of_has_no_file()
    {
        string output = Path.Combine(_root, "System.Private.Uri.dll");
        Assert.Equal(0, Program.Main(["--application", Path.Combine(OfficialFramework.Main.Assemblies, "System.Private.Uri.dll"), "--output", output, "--reference", OfficialFramework.Main.Sdk]));
        Assert.Equal([output, Path.ChangeExtension(output, ".pdb")], Directory.GetFiles(_root).Order());
    }

    [Fact]
    public void A_number_without_a_pin_in_the_framework_is_an_error_that_names_the_place()
    {
        RewriteException error = RewriteCoreLib(coreLib =>
        {
            MethodBody body = coreLib.GetType("System.Object").Methods.Single(method => method.Name == "ToString").Body;
            foreach (Instruction instruction in (Instruction[])[Instruction.Create(OpCodes.Pop), Instruction.Create(OpCodes.Ldind_I4), Instruction.Create(OpCodes.Conv_U), Instruction.Create(OpCodes.Ldarg_0)])
            {
                body.Instructions.Insert(0, instruction);
            }
        });
        Assert.Contains("System.Object::ToString(), IL_0001", error.Message);
        Assert.DoesNotContain(", IL_0002", error.Message);
    }

    [Fact]
    public void Every_entry_of_the_table_is_needed()
    {
        List<string> decisions = [];
        foreach (OfficialFramework official in OfficialFramework.Versions.Select(version => new OfficialFramework(version)))
        {
            using AssemblyRewriter rewriter = new([official.Sdk, official.Assemblies], FrameworkNames.Read(official.Names));
            rewriter.Rewrite(Path.Combine(official.Sdk, "System.Private.CoreLib.dll"), Path.Combine(_root, "CoreLib.dll"), AssemblyRole.CoreLib);
            decisions.AddRange(rewriter.Statistics.Single(pass => pass.Pass == nameof(NumberAudit)).Decisions);
        }

        Assert.All(NumbersWithoutPin.Entries, entry =>
            Assert.Contains(decisions, decision => decision.Contains(entry.Contains("::", StringComparison.Ordinal) ? $" {entry}(" : $" {entry}::", StringComparison.Ordinal)));
    }

    [Fact]
    public void A_pinned_handle_that_is_made_elsewhere_is_an_error()
    {
        RewriteException error = RewriteCoreLib(coreLib =>
        {
            MethodBody body = coreLib.GetType("System.WeakReference").Methods.Single(method => method.Name == "Create").Body;
            Instruction call = body.Instructions.Single(instruction => instruction.Operand is MethodReference { Name: "InternalAlloc" });
            call.Previous.OpCode = OpCodes.Ldc_I4_3;
        });
        Assert.Contains("WeakReference::Create", error.Message);
    }

    [Fact]
    public void A_header_whose_pointer_leaves_the_known_members_is_an_error()
    {
        RewriteException error = RewriteCoreLib(coreLib =>
        {
            MethodDefinition target = coreLib.GetType("System.Threading.ObjectHeader").Methods.Single(method => method.Name == "SetSyncEntryIndex");
            MethodBody body = coreLib.GetType("System.Threading.Monitor").Methods.Single(method => method.Name == "PulseAll").Body;
            foreach (Instruction instruction in (Instruction[])[Instruction.Create(OpCodes.Call, target), Instruction.Create(OpCodes.Ldc_I4_1), Instruction.Create(OpCodes.Conv_U), Instruction.Create(OpCodes.Ldc_I4_0)])
            {
                body.Instructions.Insert(0, instruction);
            }
        });
        Assert.Contains("Monitor::PulseAll", error.Message);
    }

    /// <summary>What other compilers write for an array that may be null: both ways store in one place, null last.</summary>
    [Fact]
    public void A_store_that_both_null_and_an_array_reach_is_a_pin()
    {
        string input = Path.Combine(_root, "subject.dll");
        using (ModuleDefinition module = ModuleDefinition.CreateModule("subject", ModuleKind.Dll))
        {
            TypeDefinition type = new("", "Subject", TypeAttributes.Public | TypeAttributes.Abstract | TypeAttributes.Sealed, module.TypeSystem.Object);
            module.Types.Add(type);
            MethodDefinition method = new("Method", MethodAttributes.Public | MethodAttributes.Static, module.TypeSystem.Byte);
            method.Parameters.Add(new ParameterDefinition(new ByReferenceType(module.TypeSystem.Byte)));
            method.Parameters.Add(new ParameterDefinition(module.TypeSystem.Int32));
            VariableDefinition local = new(new PinnedType(new ByReferenceType(module.TypeSystem.Byte)));
            method.Body.Variables.Add(local);
            type.Methods.Add(method);
            Instruction nothing = Instruction.Create(OpCodes.Ldc_I4_0), store = Instruction.Create(OpCodes.Stloc, local);
            foreach (Instruction instruction in (Instruction[])
                [
                    Instruction.Create(OpCodes.Ldarg_1), Instruction.Create(OpCodes.Brfalse, nothing), Instruction.Create(OpCodes.Ldarg_0), Instruction.Create(OpCodes.Br, store),
                    nothing, Instruction.Create(OpCodes.Conv_U), store, Instruction.Create(OpCodes.Ldloc, local), Instruction.Create(OpCodes.Conv_U), Instruction.Create(OpCodes.Ldind_U1), Instruction.Create(OpCodes.Ret),
                ])
            {
                method.Body.Instructions.Add(instruction);
            }

            module.Write(input);
        }

        string output = Path.Combine(_root, "out.dll");
        using AssemblyRewriter rewriter = new([OfficialFramework.Main.Sdk, OfficialFramework.Main.Assemblies]);
        Assert.True(rewriter.Rewrite(input, output, AssemblyRole.Application));
        using ModuleDefinition rewritten = ModuleDefinition.ReadModule(output);
        Assert.Contains(rewritten.GetType("Subject").Methods.Single().Body.Instructions, instruction => instruction.Operand is MethodReference { Name: "PinReference" });
    }

    private RewriteException RewriteCoreLib(Action<ModuleDefinition> change)
    {
        string name = "System.Private.CoreLib.dll", sdk = Path.Combine(_root, "sdk");
        Directory.CreateDirectory(sdk);
        using (ModuleDefinition coreLib = ModuleDefinition.ReadModule(Path.Combine(OfficialFramework.Main.Sdk, name)))
        {
            change(coreLib);
            coreLib.Write(Path.Combine(sdk, name));
        }

        using AssemblyRewriter rewriter = new([sdk, OfficialFramework.Main.Assemblies], FrameworkNames.Read(OfficialFramework.Main.Names));
        string output = Path.Combine(_root, "out.dll");
        RewriteException error = Assert.Throws<RewriteException>(() => rewriter.Rewrite(Path.Combine(sdk, name), output, AssemblyRole.CoreLib));
        Assert.False(File.Exists(output));
        return error;
    }
}
