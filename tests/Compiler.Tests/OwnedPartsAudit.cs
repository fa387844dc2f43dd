using System.Collections.Generic;
using System.IO;
using System.Linq;
using Freehold.Rewriter;
using Mono.Cecil;
using Mono.Cecil.Cil;
using Xunit;

namespace Freehold.Compiler.Tests;

/// <summary>
/// Every place in the framework where a part of <see cref="OwnedPartsTable"/> comes from somewhere else than a creation, or leaves its owner: returned, stored, made into a memory,
/// or given to a method that does more than use it. Each is in Golden/OwnedPartsAudit.txt with the reason why nobody needs it when its owner is gone, and the version where only one
/// has it; what is not there fails the test, as does a line that nothing stands for. It follows values through locals and in straight lines, so it finds what people write, not all that IL could do.
/// </summary>
public sealed class OwnedPartsAudit
{
    /// <summary>The versions that are supported.</summary>
    public static TheoryData<string> Versions => [.. OfficialFramework.Versions];

    [Theory]
    [MemberData(nameof(Versions))]
    public void Whatever_could_share_a_part_is_known(string version) => Verify("OwnedPartsAudit", OwnedPartsTable.Rows.SelectMany(FieldsOf), version);

    /// <summary>The same of arrays that growth deletes: where they come from and go to, but for spans.</summary>
    [Theory]
    [MemberData(nameof(Versions))]
    public void Whatever_could_keep_an_outgrown_array_is_known(string version) =>
        Verify("OutgrownArraysAudit", OutgrownArraysTable.Rows.SelectMany(row => row.Fields.SelectMany(names => names.Split('|')).Select(name => $"{row.Type}::{name}")), version);

    private static void Verify(string golden, IEnumerable<string> fields, string version)
    {
        HashSet<string> known = [];
        foreach (string line in File.ReadLines(Path.Combine(Golden.Metadata("GoldenDirectory"), golden + ".txt")).Where(line => line.Length > 0 && line[0] != '#'))
        {
            string[] parts = line.Split(" | ");
            Assert.True(parts is [_, _, _, { Length: > 10 }] or [_, _, _, { Length: > 10 }, _], $"no reason: {line}");
            Assert.True(parts.Length == 4 || OfficialFramework.Versions.Contains(parts[4]), $"no version: {line}");
            if (parts.Length == 4 || parts[4] == version)
            {
                Assert.True(known.Add(string.Join(" | ", parts[..3])), $"twice: {line}");
            }
        }

        SortedSet<string> found = Find(new OfficialFramework(version), [.. fields]);
        Assert.True(found.IsSubsetOf(known), "not in the list:\n" + string.Join('\n', found.Except(known)));
        Assert.Equal([], known.Except(found).ToArray());
    }

    private static SortedSet<string> Find(OfficialFramework official, HashSet<string> fields)
    {
        SortedSet<string> found = new(System.StringComparer.Ordinal);
        foreach (string path in Directory.EnumerateFiles(official.Sdk, "*.dll").Concat(Directory.EnumerateFiles(official.Assemblies, "*.dll")))
        {
            using ModuleDefinition module = ModuleDefinition.ReadModule(path);
            foreach (MethodDefinition method in module.GetTypes().SelectMany(type => type.Methods).Where(method => method.HasBody))
            {
                foreach (Instruction instruction in method.Body.Instructions)
                {
                    if (instruction.Operand is FieldReference field && fields.Contains(NameOf(field)))
                    {
                        IEnumerable<string> uses = instruction.OpCode.Code switch
                        {
                            Code.Ldfld => Uses(method, instruction, []),
                            Code.Stfld => Sources(method, instruction.Previous, []),
                            _ => [],
                        };
                        found.UnionWith(uses.Select(use => $"{NameOf(field)} | {method.DeclaringType.FullName}::{method.Name} | {use}"));
                    }
                }
            }
        }

        return found;
    }

    // The fields of a row, by the names that they have in the versions.
    private static IEnumerable<string> FieldsOf(OwnedPartsRow row) =>
        from type in row.Type.Split('|')
        from part in row.Parts
        from name in part.Split('?')[^1].Split("->")[0].Split(':')[0].Split("[].")[0].Split('{')[0].Split('|')
        select $"{type}::{(name.StartsWith('<') ? name : name.Split('.')[0])}";

    private static string NameOf(FieldReference field) => $"{field.DeclaringType.GetElementType().FullName}::{field.Name}";

    private static string NameOf(MethodReference method) => $"{method.DeclaringType.GetElementType().Name}::{method.Name}";

    // Where a value that is stored comes from, if it is not made on the spot.
    private static IEnumerable<string> Sources(MethodDefinition method, Instruction? source, HashSet<Instruction> seen)
    {
        if (source is null || !seen.Add(source))
        {
            return [];
        }

        if (LoadedLocal(source) is { } local)
        {
            return method.Body.Instructions.Where(store => StoredLocal(store) == local).SelectMany(store => Sources(method, store.Previous, seen));
        }

        switch (source.OpCode.Code)
        {
            case Code.Ldarg_0 or Code.Ldarg_1 or Code.Ldarg_2 or Code.Ldarg_3 or Code.Ldarg or Code.Ldarg_S:
                return ["comes from the caller"];
            case Code.Dup or Code.Castclass or Code.Isinst or Code.Volatile:
                return Sources(method, source.Previous, seen);
            case Code.Ldfld or Code.Ldsfld:
                return [$"comes from {((FieldReference)source.Operand).Name}"];
            case Code.Call or Code.Callvirt when source.Operand is MethodReference called && NameOf(called) != "Array::Empty":
                return [$"comes from {NameOf(called)}"];
            default:
                return [];
        }
    }

    private static IEnumerable<string> Uses(MethodDefinition method, Instruction load, HashSet<Instruction> seen)
    {
        if (!seen.Add(load))
        {
            yield break;
        }

        int above = 0;
        for (Instruction? next = load.Next; next is not null; next = next.OpCode.Code is Code.Br or Code.Br_S ? (Instruction)next.Operand : next.Next)
        {
            if (!seen.Add(next) && next.OpCode.Code is Code.Br or Code.Br_S)
            {
                yield break;
            }

            int popped = Popped(next, method);
            if (popped > above)
            {
                foreach (string use in Use(method, next, above + 1, seen))
                {
                    yield return use;
                }

                if (next.OpCode.Code != Code.Dup)
                {
                    yield break;
                }
            }

            above += Pushed(next) - popped;
            if (next.OpCode.Code == Code.Dup && above == 1)
            {
                foreach (string use in Uses(method, next, seen))
                {
                    yield return use;
                }
            }
        }
    }

    // `depth`: 1 for the last operand.
    private static IEnumerable<string> Use(MethodDefinition method, Instruction user, int depth, HashSet<Instruction> seen)
    {
        if (StoredLocal(user) is { } local)
        {
            return method.Body.Instructions.Where(load => LoadedLocal(load) == local).SelectMany(load => Uses(method, load, seen));
        }

        switch (user.OpCode.Code)
        {
            case Code.Ret:
                return ["is returned"];
            case Code.Stsfld or Code.Stind_Ref or Code.Starg or Code.Starg_S or Code.Stobj:
                return ["is kept elsewhere"];
            case Code.Stfld when depth == 1:
                return [$"is stored in {((FieldReference)user.Operand).Name}"];
            case Code.Castclass or Code.Isinst or Code.Box:
                return Uses(method, user, seen);
            case Code.Newobj when user.Operand is MethodReference made && made.DeclaringType.GetElementType().Name is not ("Span`1" or "ReadOnlySpan`1"):
                return [$"is made into {made.DeclaringType.GetElementType().Name}"];
            case Code.Call when user.Operand is MethodReference { Name: "AsMemory" }:
                return ["is made into Memory`1"];
            case Code.Call or Code.Callvirt when user.Operand is MethodReference called && depth <= called.Parameters.Count && !OnlyUses(called):
                return [$"is given to {NameOf(called)}"];
            case Code.Stelem_Ref or Code.Stelem_Any when depth == 1:
                return ["is stored in an array"];
            default:
                return [];
        }
    }

    // Neither keeps an argument nor returns it but as a span or a reference.
    private static bool OnlyUses(MethodReference called) => called.DeclaringType.GetElementType().FullName switch
    {
        "System.Array" => called.Name is not "AsReadOnly",
        "System.Buffer" or "System.Object" or "System.GC" or "System.Threading.Monitor" or "System.ArgumentNullException" or "System.Span`1" or "System.ReadOnlySpan`1" or "System.Runtime.CompilerServices.RuntimeHelpers" => true,
        "System.MemoryExtensions" => called.Name is "AsSpan",
        "System.Runtime.InteropServices.MemoryMarshal" => called.Name is "GetArrayDataReference" or "CreateSpan",
        _ => false,
    };

    private static int? LoadedLocal(Instruction instruction) => instruction.OpCode.Code switch
    {
        >= Code.Ldloc_0 and <= Code.Ldloc_3 => instruction.OpCode.Code - Code.Ldloc_0,
        Code.Ldloc or Code.Ldloc_S => ((VariableDefinition)instruction.Operand).Index,
        _ => null,
    };

    private static int? StoredLocal(Instruction instruction) => instruction.OpCode.Code switch
    {
        >= Code.Stloc_0 and <= Code.Stloc_3 => instruction.OpCode.Code - Code.Stloc_0,
        Code.Stloc or Code.Stloc_S => ((VariableDefinition)instruction.Operand).Index,
        _ => null,
    };

    private static int Popped(Instruction instruction, MethodDefinition method) => instruction.OpCode.StackBehaviourPop switch
    {
        StackBehaviour.Pop0 => 0,
        StackBehaviour.Pop1 or StackBehaviour.Popi or StackBehaviour.Popref => 1,
        StackBehaviour.Pop1_pop1 or StackBehaviour.Popi_pop1 or StackBehaviour.Popi_popi or StackBehaviour.Popi_popi8 or StackBehaviour.Popi_popr4 or StackBehaviour.Popi_popr8
            or StackBehaviour.Popref_pop1 or StackBehaviour.Popref_popi => 2,
        StackBehaviour.PopAll => int.MaxValue,
        StackBehaviour.Varpop when instruction.OpCode.Code == Code.Ret => method.ReturnType.MetadataType == MetadataType.Void ? 0 : 1,
        StackBehaviour.Varpop when instruction.Operand is IMethodSignature called =>
            called.Parameters.Count + (called.HasThis && instruction.OpCode.Code != Code.Newobj ? 1 : 0) + (instruction.OpCode.Code == Code.Calli ? 1 : 0),
        StackBehaviour.Varpop => 0,
        _ => 3,
    };

    private static int Pushed(Instruction instruction) => instruction.OpCode.StackBehaviourPush switch
    {
        StackBehaviour.Push0 => 0,
        StackBehaviour.Push1_push1 => 2,
        StackBehaviour.Varpush => instruction.OpCode.Code == Code.Newobj || ((IMethodSignature)instruction.Operand).ReturnType.MetadataType != MetadataType.Void ? 1 : 0,
        _ => 1,
    };
}
