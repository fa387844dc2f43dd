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

/// <summary>Which programs can get hold of the array of a collection, so that those keep the arrays that collections outgrow.</summary>
public sealed class OutgrownArraysTests : IDisposable
{
    private const string Fixtures = "Freehold.Compiler.Fixtures.Outgrown";
    private readonly string _root = Directory.CreateTempSubdirectory("freehold-outgrown").FullName;

    /// <summary>The classes of the fixture, one way each.</summary>
    public static TheoryData<string> Ways => [.. typeof(Outgrown).GetNestedTypes().Select(type => type.Name).Where(name => name is not (nameof(Outgrown.Harmless) or "Collection`1" or nameof(Outgrown.KeepingBase)))];

    /// <summary>What only looks like a way.</summary>
    public static TheoryData<string> Others => [.. typeof(Outgrown.Harmless).GetNestedTypes().Select(type => type.Name).Append("")];

    /// <inheritdoc/>
    public void Dispose() => Directory.Delete(_root, recursive: true);

    [Theory]
    [MemberData(nameof(Ways))]
    public void A_program_with_a_way_to_the_array_of_a_collection_keeps_old_arrays(string way)
    {
        using ModuleDefinition module = Rewritten(way);
        MethodDefinition initializer = module.GetType("<Module>").Methods.Single(method => method.Name == ".cctor");
        Assert.Contains(initializer.Body.Instructions, instruction => instruction.Operand is MethodReference { Name: "KeepOutgrown" });
    }

    [Theory]
    [MemberData(nameof(Others))]
    public void A_program_that_has_none_does_not(string other)
    {
        using ModuleDefinition module = Module();
        TypeDefinition type = module.GetType($"{Fixtures}/Harmless{(other.Length == 0 ? "" : "/" + other)}");
        Assert.Equal([], type.Methods.SelectMany(WaysToArrays.In).ToArray());
    }

    // A program of the one class: the others lose their code.
    private ModuleDefinition Rewritten(string way)
    {
        string program = Path.Combine(_root, "program.dll"), output = Path.Combine(_root, "out", "program.dll");
        using (ModuleDefinition module = Module())
        {
            TypeDefinition type = module.GetType($"{Fixtures}/{way}");
            HashSet<TypeDefinition> kept = [type, .. type.NestedTypes];
            for (TypeDefinition? ancestor = type.BaseType?.Resolve(); ancestor?.Module == module; ancestor = ancestor.BaseType?.Resolve())
            {
                kept.Add(ancestor);
            }

            foreach (MethodDefinition method in module.GetTypes().Where(other => !kept.Contains(other)).SelectMany(other => other.Methods))
            {
                method.CustomAttributes.Clear();
                if (method.HasBody)
                {
                    method.Body = new MethodBody(method);
                    method.Body.Instructions.Add(Instruction.Create(OpCodes.Ldnull));
                    method.Body.Instructions.Add(Instruction.Create(OpCodes.Throw));
                }
            }

            module.Write(program);
        }

        Assert.Equal(0, Program.Main(["--application", program, "--output", output]));
        return ModuleDefinition.ReadModule(output);
    }

    // With what C# cannot say.
    private static ModuleDefinition Module()
    {
        ModuleDefinition module = ModuleDefinition.ReadModule(typeof(Outgrown).Assembly.Location);
        MethodDefinition read = module.GetType($"{Fixtures}/{nameof(Outgrown.FieldInIl)}").Methods.Single(method => method.Name == nameof(Outgrown.FieldInIl.Read));
        GenericInstanceType list = (GenericInstanceType)read.Parameters[0].ParameterType;
        ArrayType items = new(list.ElementType.Resolve().GenericParameters[0]);
        read.Body = new MethodBody(read);
        read.Body.Instructions.Add(Instruction.Create(OpCodes.Ldarg_0));
        read.Body.Instructions.Add(Instruction.Create(OpCodes.Ldfld, new FieldReference("_items", module.ImportReference(items, list), list)));
        read.Body.Instructions.Add(Instruction.Create(OpCodes.Ret));
        module.GetType($"{Fixtures}/{nameof(Outgrown.KeepsUnderAnotherName)}").Methods.Single(method => method.HasOverrides).Name = "Fill";
        return module;
    }
}
