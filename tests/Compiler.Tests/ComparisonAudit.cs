using System.Collections.Generic;
using System.IO;
using System.Linq;
using Freehold.Rewriter.Analysis;
using Freehold.Rewriter.Passes;
using Mono.Cecil;
using Mono.Cecil.Cil;
using Xunit;

namespace Freehold.Compiler.Tests;

/// <summary>
/// Everything in the framework that could compare references, other than the comparisons that the passes see: native functions and intrinsics that are given
/// references, and places where memory that holds references is read as numbers. Each is in Golden/ComparisonAudit.txt with the reason why it is right, and the version where only one has it; what is
/// not there fails the test, as does a line that nothing stands for.
/// </summary>
public sealed class ComparisonAudit
{
    /// <summary>The versions that are supported.</summary>
    public static TheoryData<string> Versions => [.. OfficialFramework.Versions];

    [Theory]
    [MemberData(nameof(Versions))]
    public void Whatever_could_compare_references_is_known(string version)
    {
        Dictionary<string, string> known = [];
        foreach (string line in File.ReadLines(Path.Combine(Golden.Metadata("GoldenDirectory"), "ComparisonAudit.txt")).Where(line => line.Length > 0 && line[0] != '#'))
        {
            string[] parts = line.Split(" | ");
            Assert.True(parts is [_, _, { Length: > 10 }] or [_, _, { Length: > 10 }, _], $"no reason: {line}");
            Assert.True(parts.Length == 3 || OfficialFramework.Versions.Contains(parts[3]), $"no version: {line}");
            if (parts.Length == 3 || parts[3] == version)
            {
                known.Add($"{parts[0]} | {parts[1]}", parts[2]);
            }
        }

        SortedSet<string> found = [.. Assemblies(version).SelectMany(Find)];
        Assert.Equal([], found.Except(known.Keys).ToArray());
        Assert.Equal([], known.Keys.Except(found).ToArray());
    }

    // A type that is none of the compiler's would be a RuntimeType that moves: the JIT compares them as numbers.
    [Theory]
    [MemberData(nameof(Versions))]
    public void Types_are_made_in_one_place(string version) =>
        Assert.Equal(
            ["System.Reflection.Runtime.TypeInfos.RuntimeTypeInfo::InitializeType"],
            Assemblies(version).SelectMany(module => TypeIdentity.Creations(MethodsWithBody(module))).Select(creation => Name(creation.Method)));

    private static IEnumerable<ModuleDefinition> Assemblies(string version)
    {
        OfficialFramework official = new(version);
        using DefaultAssemblyResolver resolver = new();
        resolver.AddSearchDirectory(official.Sdk);
        resolver.AddSearchDirectory(official.Assemblies);
        foreach (string path in Directory.EnumerateFiles(official.Sdk, "*.dll").Concat(Directory.EnumerateFiles(official.Assemblies, "*.dll")))
        {
            using ModuleDefinition module = ModuleDefinition.ReadModule(path, new ReaderParameters { AssemblyResolver = resolver });
            yield return module;
        }
    }

    private static IEnumerable<MethodDefinition> MethodsWithBody(ModuleDefinition module) => module.GetTypes().SelectMany(type => type.Methods).Where(method => method.HasBody);

    private static IEnumerable<string> Find(ModuleDefinition module)
    {
        foreach (MethodDefinition method in module.GetTypes().SelectMany(type => type.Methods))
        {
            int references = method.Parameters.Count(parameter => IsReference(parameter.ParameterType)) + (method.HasThis && !method.DeclaringType.IsValueType ? 1 : 0);
            if (!method.HasBody && (method.IsInternalCall || IsOfRuntime(method)) && references > 0)
            {
                yield return $"native | {Name(method)}";
            }

            if (references > 1 && method.CustomAttributes.Any(attribute => attribute.AttributeType.Name == "IntrinsicAttribute"))
            {
                yield return $"intrinsic | {Name(method)}";
            }

            if (method.HasBody && ReadsReferencesAsNumbers(method))
            {
                yield return $"words | {Name(method)}";
            }
        }
    }

    private static string Name(MethodDefinition method) => $"{method.DeclaringType.FullName}::{method.Name}";

    /// <summary>A P/Invoke into the runtime itself.</summary>
    private static bool IsOfRuntime(MethodDefinition method) => method.IsPInvokeImpl && method.PInvokeInfo.Module.Name is "*" or "QCall";

    private static bool ReadsReferencesAsNumbers(MethodDefinition method)
    {
        foreach (Instruction instruction in method.Body.Instructions)
        {
            bool isSite = instruction switch
            {
                { Operand: GenericInstanceMethod { Name: "As" or "BitCast", GenericArguments: [var from, var to] } called } => called.DeclaringType.FullName == IdentitySites.Unsafe && Reinterprets(method, from, to),
                { Operand: GenericInstanceMethod { Name: "Cast" or "AsBytes", GenericArguments: [var from, ..] } called } => called.DeclaringType.Name == "MemoryMarshal" && Reinterprets(method, from, null),
                // What C# makes of *(nint*)&reference.
                { OpCode.Code: Code.Ldloca or Code.Ldloca_S, Operand: VariableDefinition { VariableType: var type }, Next: { OpCode.Code: Code.Conv_U, Next: var read } } => IsRead(read) && Reinterprets(method, type, null),
                { OpCode.Code: Code.Ldarga or Code.Ldarga_S, Operand: ParameterDefinition { ParameterType: var type }, Next: { OpCode.Code: Code.Conv_U, Next: var read } } => IsRead(read) && Reinterprets(method, type, null),
                _ => false,
            };
            if (isSite)
            {
                return true;
            }
        }

        if (!method.Body.Instructions.Any(IsConversion))
        {
            return false;
        }

        StackTypes types = StackTypes.Of(method, IsConversion);
        return method.Body.Instructions.Any(site => IsConversion(site) && types.IsReachable(site) && IsAddress(site, types.Operands(site)[0]));
    }

    private static bool IsRead(Instruction instruction) => instruction.OpCode.Code is >= Code.Ldind_I1 and <= Code.Ldind_R8;

    private static bool IsConversion(Instruction instruction) => instruction.OpCode.Code is Code.Conv_U or Code.Conv_I or Code.Conv_U8 or Code.Conv_I8;

    // Of a managed pointer conv.u is what the passes know (StackValue.Address).
    private static bool IsAddress(Instruction conversion, StackValue operand) => (operand & StackValue.AnyObject) != 0
        || (conversion.OpCode.Code is Code.Conv_U8 or Code.Conv_I8 && (operand & (StackValue.Reference | StackValue.Pinned)) == StackValue.Reference);

    /// <summary>Whether the first type may hold references and the other is a number. Generic code that asks what its parameter is has asked for numbers; vectors hold nothing else.</summary>
    private static bool Reinterprets(MethodDefinition method, TypeReference from, TypeReference? to)
    {
        if ((to is not null && !IsNumber(to)) || !MayHoldReferences(from))
        {
            return false;
        }

        if (from.FullName.StartsWith("System.Runtime.Intrinsics.Vector", System.StringComparison.Ordinal)
            || (IsOpen(from) && method.DeclaringType.FullName.Split('`')[0] is "System.Runtime.Intrinsics.Vector64" or "System.Runtime.Intrinsics.Vector128" or "System.Runtime.Intrinsics.Vector256"
                or "System.Runtime.Intrinsics.Vector512" or "System.Numerics.Vector"))
        {
            return false;
        }

        return !IsOpen(from) || !method.Body.Instructions.Any(instruction => instruction switch
        {
            { OpCode.Code: Code.Ldtoken or Code.Sizeof, Operand: GenericParameter } => true,
            { Operand: MethodReference { Name: "IsBitwiseEquatable" or "IsReferenceOrContainsReferences" or "SizeOf" or "IsPrimitive" } } => true,
            _ => false,
        });
    }

    private static bool IsOpen(TypeReference type) => type is GenericParameter || (type is GenericInstanceType instance && instance.GenericArguments.Any(IsOpen));

    private static bool IsNumber(TypeReference type) => type.IsPrimitive || type.FullName is "System.IntPtr" or "System.UIntPtr";

    private static bool IsReference(TypeReference type) => type switch
    {
        ByReferenceType or ArrayType or GenericParameter => true,
        PointerType or FunctionPointerType => false,
        GenericInstanceType instance => !instance.IsValueType,
        _ => !type.IsValueType && !type.IsPrimitive && type.MetadataType != MetadataType.Void,
    };

    private static bool MayHoldReferences(TypeReference type)
    {
        switch (type)
        {
            case GenericParameter parameter:
                return !parameter.HasNotNullableValueTypeConstraint;
            case PointerType or FunctionPointerType:
                return false;
            case ArrayType:
                return true;
        }

        if (IsNumber(type))
        {
            return false;
        }

        TypeDefinition? definition = ValueKinds.Resolve(type);
        return definition is null || !definition.IsValueType || (!definition.IsEnum
            && ((type is GenericInstanceType instance && instance.GenericArguments.Any(MayHoldReferences))
                || definition.Fields.Any(field => !field.IsStatic && field.FieldType is not GenericParameter && MayHoldReferences(field.FieldType))));
    }
}
