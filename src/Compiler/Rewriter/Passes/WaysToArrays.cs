using System;
using System.Collections.Generic;
using System.Linq;
using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Rewriter.Passes;

/// <summary>
/// How a program can get hold of an array that a collection of <see cref="OutgrownArraysTable"/> has: by a private field of it, which it names in IL, in a text or to an unsafe accessor; by <c>MemberwiseClone</c>, after which
/// two collections have one array; or by a <c>CopyTo</c> that keeps what it is to fill (<see cref="CopyTargets"/>).
/// </summary>
public static class WaysToArrays
{
    private const string Clone = "MemberwiseClone";
    private const string Object = "System.Object";

    private static readonly HashSet<string> s_types = [.. OutgrownArraysTable.Rows.Select(row => row.Type)];

    private static readonly HashSet<string> s_fields = [.. OutgrownArraysTable.Rows.SelectMany(row => row.Fields).SelectMany(names => names.Split('|'))];

    /// <summary>The ways that a module has, each by the name that leads to an array.</summary>
    public static IEnumerable<string> In(ModuleDefinition module) => module.GetTypes().SelectMany(type => type.Methods).SelectMany(In);

    /// <summary>Those that a method has.</summary>
    public static IEnumerable<string> In(MethodDefinition method)
    {
        foreach (CustomAttribute attribute in method.CustomAttributes.Where(attribute => attribute.AttributeType.Name == "UnsafeAccessorAttribute"))
        {
            // An accessor without a name is one of the member that is called as it is.
            string name = attribute.Properties.Where(property => property.Name == "Name").Select(property => property.Argument.Value).OfType<string>().FirstOrDefault() ?? method.Name;
            if (IsWay(name))
            {
                yield return name;
            }
        }

        if (!method.HasBody)
        {
            yield break;
        }

        if (CopyTargets.MayKeep(method))
        {
            yield return method.FullName;
        }

        if (method.Body.Instructions.Any(instruction => instruction.Calls(Object, Clone)) && MayBeCollection(method.DeclaringType))
        {
            yield return Clone;
        }

        // C# does not let a program name such a field; IL does, and the compiler does not mind.
        foreach (FieldReference field in method.Body.Instructions.Select(instruction => instruction.Operand).OfType<FieldReference>())
        {
            if (s_fields.Contains(field.Name) && s_types.Contains(field.DeclaringType.GetElementType().FullName))
            {
                yield return field.FullName;
            }
        }

        // Names that are words of English too count only where a method asks a type for fields.
        bool asks = method.Body.Instructions.Any(instruction => instruction.Operand is MethodReference { Name: "GetField" or "GetFields" or "GetMember" or "GetRuntimeField" });
        foreach (string name in method.Body.Instructions.Select(instruction => instruction.Operand).OfType<string>().Where(IsWay))
        {
            if (asks || name == Clone || name.Contains('_', StringComparison.Ordinal))
            {
                yield return name;
            }
        }
    }

    private static bool IsWay(string name) => name == Clone || s_fields.Contains(name);

    // The class whose method clones `this`, or, for a lambda or an iterator, the class around it. One whose base is not to be found may be anything.
    private static bool MayBeCollection(TypeDefinition type)
    {
        for (TypeDefinition? outer = type; outer is not null; outer = outer.DeclaringType)
        {
            for (TypeReference? ancestor = outer.BaseType; ancestor is not null; ancestor = Resolve(ancestor)?.BaseType)
            {
                if (s_types.Contains(ancestor.GetElementType().FullName) || Resolve(ancestor) is null)
                {
                    return true;
                }
            }
        }

        return false;
    }

    private static TypeDefinition? Resolve(TypeReference type)
    {
        try
        {
            return type.Resolve();
        }
        catch (AssemblyResolutionException)
        {
            return null;
        }
    }
}
