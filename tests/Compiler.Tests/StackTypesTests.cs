using System;
using System.IO;
using System.Linq;
using Freehold.Rewriter;
using Mono.Cecil;
using Mono.Cecil.Cil;
using Xunit;

namespace Freehold.Compiler.Tests;

/// <summary>What the passes over comparisons do when the types of operands are not what a compiler makes: an error, never a comparison that is left as it is.</summary>
public sealed class StackTypesTests : IDisposable
{
    private readonly string _root = Directory.CreateTempSubdirectory("freehold-stack").FullName;

    /// <inheritdoc/>
    public void Dispose() => Directory.Delete(_root, recursive: true);

    [Fact]
    public void An_object_and_a_number_are_an_error() => AssertFails(
        "operands of one kind",
        Instruction.Create(OpCodes.Ldarg_0),
        Instruction.Create(OpCodes.Ldarg_2),
        Instruction.Create(OpCodes.Ceq),
        Instruction.Create(OpCodes.Ret));

    [Fact]
    public void An_order_of_objects_is_an_error() => AssertFails(
        "no order between objects",
        Instruction.Create(OpCodes.Ldarg_0),
        Instruction.Create(OpCodes.Ldarg_1),
        Instruction.Create(OpCodes.Clt_Un),
        Instruction.Create(OpCodes.Ret));

    [Fact]
    public void A_value_of_a_generic_parameter_without_box_is_an_error() => AssertFails(
        "operands of known types",
        Instruction.Create(OpCodes.Ldarg_3),
        Instruction.Create(OpCodes.Ldarg_3),
        Instruction.Create(OpCodes.Ceq),
        Instruction.Create(OpCodes.Ret));

    [Fact]
    public void Two_depths_of_the_stack_are_an_error()
    {
        Instruction join = Instruction.Create(OpCodes.Ldarg_0);
        AssertFails(
            "one depth of the stack",
            Instruction.Create(OpCodes.Ldarg_2),
            Instruction.Create(OpCodes.Brtrue, join),
            Instruction.Create(OpCodes.Ldarg_2),
            join,
            Instruction.Create(OpCodes.Ldarg_1),
            Instruction.Create(OpCodes.Ceq),
            Instruction.Create(OpCodes.Ret));
    }

    [Theory]
    [InlineData(Code.Cgt_Un, "call;ldc.i4.0;ceq;ret")]
    [InlineData(Code.Ceq, "call;ret")]
    public void Objects_without_C_sharp(Code comparison, string expected)
    {
        OpCode opCode = comparison == Code.Ceq ? OpCodes.Ceq : OpCodes.Cgt_Un;
        MethodDefinition method = Rewrite(Instruction.Create(OpCodes.Ldarg_0), Instruction.Create(OpCodes.Ldarg_1), Instruction.Create(opCode), Instruction.Create(OpCodes.Ret));
        Assert.Equal(expected, string.Join(';', method.Body.Instructions.Skip(2).Select(instruction => instruction.OpCode.Name)));
    }

    [Fact]
    public void What_cannot_be_reached_is_left_alone()
    {
        Instruction end = Instruction.Create(OpCodes.Ldc_I4_0);
        MethodDefinition method = Rewrite(
            Instruction.Create(OpCodes.Br_S, end),
            Instruction.Create(OpCodes.Ldarg_0),
            Instruction.Create(OpCodes.Ldarg_1),
            Instruction.Create(OpCodes.Ceq),
            Instruction.Create(OpCodes.Pop),
            end,
            Instruction.Create(OpCodes.Ret));
        Assert.Contains(method.Body.Instructions, instruction => instruction.OpCode == OpCodes.Ceq);
    }

    [Theory]
    [InlineData(Code.Sub, "call")]
    [InlineData(Code.Clt_Un, "call")]
    [InlineData(Code.Cgt_Un, "call")]
    [InlineData(Code.Ceq, "call")]
    public void References_without_C_sharp(Code code, string expected)
    {
        OpCode opCode = new[] { OpCodes.Sub, OpCodes.Clt_Un, OpCodes.Cgt_Un, OpCodes.Ceq }.Single(candidate => candidate.Code == code);
        MethodDefinition method = Rewrite(
            Instruction.Create(OpCodes.Ldarg_0), Instruction.Create(OpCodes.Unbox, Make(out _).TypeSystem.Int32), Instruction.Create(OpCodes.Ldarg_1),
            Instruction.Create(OpCodes.Unbox, Make(out _).TypeSystem.Int32), Instruction.Create(opCode), Instruction.Create(OpCodes.Conv_I4), Instruction.Create(OpCodes.Ret));
        Assert.Equal(expected, method.Body.Instructions[4].OpCode.Name);
    }

    private void AssertFails(string expected, params Instruction[] code)
    {
        RewriteException error = Assert.Throws<RewriteException>(() => Rewrite(code));
        Assert.Contains(expected, error.Message);
        Assert.Contains("Subject::Method", error.Message);
    }

    /// <summary>Rewrites <c>static int Method&lt;T&gt;(object, object, int, T)</c> with this body.</summary>
    private MethodDefinition Rewrite(params Instruction[] code)
    {
        string input = Path.Combine(_root, "subject.dll");
        using (ModuleDefinition module = Make(out MethodDefinition method))
        {
            foreach (Instruction instruction in code)
            {
                if (instruction.Operand is TypeReference)
                {
                    instruction.Operand = module.TypeSystem.Int32;
                }

                method.Body.Instructions.Add(instruction);
            }

            module.Write(input);
        }

        using AssemblyRewriter rewriter = new([OfficialFramework.Main.Sdk, OfficialFramework.Main.Assemblies]);
        string output = Path.Combine(_root, "out.dll");
        rewriter.Rewrite(input, output, AssemblyRole.Application);
        return ModuleDefinition.ReadModule(output).GetType("Subject").Methods.Single();
    }

    private static ModuleDefinition Make(out MethodDefinition method)
    {
        ModuleDefinition module = ModuleDefinition.CreateModule("subject", ModuleKind.Dll);
        TypeDefinition type = new("", "Subject", TypeAttributes.Public | TypeAttributes.Abstract | TypeAttributes.Sealed, module.TypeSystem.Object);
        module.Types.Add(type);
        method = new MethodDefinition("Method", MethodAttributes.Public | MethodAttributes.Static, module.TypeSystem.Int32);
        GenericParameter parameter = new("T", method);
        method.GenericParameters.Add(parameter);
        foreach (TypeReference argument in new[] { module.TypeSystem.Object, module.TypeSystem.Object, module.TypeSystem.Int32, parameter })
        {
            method.Parameters.Add(new ParameterDefinition(argument));
        }

        type.Methods.Add(method);
        return module;
    }
}
