using System.Collections.Generic;
using System.Linq;
using System.Text.RegularExpressions;
using Mono.Cecil;

namespace Freehold.Rewriter.Escape;

/// <summary>Which types of <see cref="OwnedPartsTable"/> own something, at whatever depth, that has a finalizer: a timer that ends, a handle that is closed. The program may see when that is.</summary>
public sealed partial class ClosedWorld
{
    private readonly Dictionary<TypeDefinition, bool> _finalizableParts = [];

    /// <summary>Whether a deletion of such an object with its parts may run a finalizer.</summary>
    public bool PartsMayHaveFinalizers(TypeDefinition type)
    {
        if (!_finalizableParts.TryGetValue(type, out bool may))
        {
            _finalizableParts[type] = may = PartsMayHaveFinalizers(type, []);
        }

        return may;
    }

    // A type that was asked before adds nothing. So the answer of a search is that of its first type alone: types may own each other.
    private bool PartsMayHaveFinalizers(TypeDefinition type, HashSet<TypeDefinition> asked) =>
        asked.Add(type) && Hierarchy(type).SelectMany(PartTypes).Any(part => part is null || IsFinalizable(part, asked));

    // Of what a field has, the class is the framework's, which fills it.
    private bool IsFinalizable(TypeReference part, HashSet<TypeDefinition> asked)
    {
        if (part is ArrayType)
        {
            return false;
        }

        if (part is GenericParameter || Resolve(part) is not { } definition || definition.IsInterface || definition.FullName == "System.Object")
        {
            return true;
        }

        return DerivedOf(definition).Where(IsFramework).Prepend(definition).Any(one => MayHaveFinalizer(one) || PartsMayHaveFinalizers(one, asked));
    }

    // Null: not known.
    private IEnumerable<TypeReference?> PartTypes(TypeDefinition type)
    {
        foreach (string path in OwnedPartsTable.Rows.Where(row => row.Type.Split('|').Contains(type.FullName)).SelectMany(row => row.Parts).Select(part => part.Split('?')[^1]))
        {
            Match names = Regex.Match(path, @"^(?<field><\w+>[\w|<>]+|[\w|<>]+?)(?<array>\[\])?(\.(?<inner>\w+))?(:(?<cast>[\w.]+))?(?<elements>\{.*\})?(->.*)?$");
            TypeReference? held = FieldType(type, names.Groups["field"].Value);
            if (names.Groups["array"].Success)
            {
                held = (Unmodified(held) as ArrayType)?.ElementType;
            }

            if (names.Groups["inner"].Success)
            {
                held = held is null ? null : FieldType(Resolve(held), names.Groups["inner"].Value);
            }

            if (names.Groups["cast"].Success)
            {
                held = held?.Module.GetType(names.Groups["cast"].Value);
            }

            yield return held;
            if (names.Groups["elements"].Success)
            {
                yield return Unmodified(held) switch
                {
                    ArrayType array => array.ElementType,
                    GenericInstanceType generic => generic.GenericArguments[^1],
                    _ => null,
                };
            }
        }
    }

    [return: System.Diagnostics.CodeAnalysis.NotNullIfNotNull(nameof(type))]
    private static TypeReference? Unmodified(TypeReference? type) => type is IModifierType modified ? Unmodified(modified.ElementType) : type;

    private TypeReference? FieldType(TypeDefinition? type, string names) =>
        type is null ? null : Hierarchy(type).SelectMany(at => at.Fields).FirstOrDefault(field => names.Split('|').Contains(field.Name))?.FieldType;
}
