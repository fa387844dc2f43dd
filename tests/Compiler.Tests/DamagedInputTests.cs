using System;
using System.IO;
using System.Linq;
using System.Text;
using Freehold.Compiler.Fixtures;
using Freehold.Rewriter;
using Mono.Cecil;
using Mono.Cecil.Cil;
using Xunit;

namespace Freehold.Compiler.Tests;

/// <summary>Applications with which something is wrong that does not matter: a publish without Freehold succeeds, so one with it does.</summary>
public sealed class DamagedInputTests : IDisposable
{
    private readonly string _root = Directory.CreateTempSubdirectory("freehold-damaged").FullName;

    /// <inheritdoc/>
    public void Dispose() => Directory.Delete(_root, recursive: true);

    [Theory]
    [InlineData("foreign")]
    [InlineData("truncated")]
    [InlineData("short")]
    [InlineData("empty")]
    [InlineData("windows")]
    public void Symbols_that_cannot_be_used_are_left_out(string kind)
    {
        string fixtures = typeof(Pins).Assembly.Location, input = Path.Combine(_root, Path.GetFileName(fixtures)), output = Path.Combine(_root, "out.dll");
        File.Copy(fixtures, input);
        byte[] own = File.ReadAllBytes(Path.ChangeExtension(fixtures, ".pdb"));
        File.WriteAllBytes(Path.ChangeExtension(input, ".pdb"), kind switch
        {
            "foreign" => File.ReadAllBytes(Path.ChangeExtension(typeof(DamagedInputTests).Assembly.Location, ".pdb")),
            "truncated" => own[..(own.Length / 2)],
            "short" => own[..7],
            "empty" => [],
            _ => [.. Encoding.ASCII.GetBytes("Microsoft C/C++ MSF 7.00\r\n\u001ADS\0\0\0"), .. new byte[4096]],
        });
        Assert.Equal(0, Program.Main(["--application", input, "--output", output]));
        using ModuleDefinition module = ModuleDefinition.ReadModule(output);
        Assert.NotNull(module.GetType(typeof(Pins).FullName));
    }

    /// <summary>An optional dependency that is not there: nobody can tell what a value of its type is.</summary>
    [Fact]
    public void Comparisons_of_values_of_a_missing_type_stay()
    {
        string input = Path.Combine(_root, "Missing.dll"), output = Path.Combine(_root, "out.dll");
        using (AssemblyDefinition assembly = AssemblyDefinition.CreateAssembly(new AssemblyNameDefinition("Missing", new Version(1, 0)), "Missing", ModuleKind.Dll))
        {
            ModuleDefinition module = assembly.MainModule;
            TypeReference missing = new("Absent", "Value", module, new AssemblyNameReference("Absent", new Version(1, 0)));
            module.AssemblyReferences.Add((AssemblyNameReference)missing.Scope);
            TypeDefinition type = new("Missing", "Uses", TypeAttributes.Public | TypeAttributes.Class | TypeAttributes.Abstract | TypeAttributes.Sealed, module.TypeSystem.Object);
            module.Types.Add(type);
            MethodDefinition method = new("AreEqual", MethodAttributes.Public | MethodAttributes.Static, module.TypeSystem.Boolean);
            method.Parameters.Add(new ParameterDefinition(module.TypeSystem.Object));
            type.Methods.Add(method);
            ILProcessor il = method.Body.GetILProcessor();
            il.Emit(OpCodes.Ldarg_0);
            il.Emit(OpCodes.Unbox_Any, missing);
            il.Emit(OpCodes.Ldarg_0);
            il.Emit(OpCodes.Unbox_Any, missing);
            il.Emit(OpCodes.Ceq);
            il.Emit(OpCodes.Ret);
            assembly.Write(input);
        }

        Assert.Equal(0, Program.Main(["--application", input, "--output", output]));
        using ModuleDefinition written = ModuleDefinition.ReadModule(output);
        Assert.Contains(written.GetType("Missing.Uses").Methods.Single().Body.Instructions, instruction => instruction.OpCode == OpCodes.Ceq);
    }
}
