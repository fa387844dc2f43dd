using System.Collections.Generic;
using System.Linq;
using Freehold.Rewriter.Analysis;
using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Rewriter.Escape;

/// <summary>
/// Static fields of the framework that keep texts for all who ask: the texts of small numbers. <see cref="SharedObjects"/> marks each text before it is stored there, and a deletion leaves what is
/// marked. So for a deletion such a text is as good as a new one, if every store is one that the pass has marked. In a framework that is not rewritten none is.
/// </summary>
internal sealed class SharedTexts(ClosedWorld world)
{
    private const string Share = nameof(Share), ShareElements = nameof(ShareElements);
    private readonly Dictionary<FieldDefinition, bool> _known = [];

    /// <summary>Whether the field has texts, or one array of them.</summary>
    public static bool OfTexts(FieldReference field) => IsText(field.FieldType) || (field.FieldType is ArrayType { IsVector: true, ElementType: var element } && IsText(element));

    /// <summary>Whether all texts that the field has, or the array in it, are marked.</summary>
    public bool Has(FieldReference reference)
    {
        if (!OfTexts(reference) || world.Resolve(reference) is not { } field)
        {
            return false;
        }

        if (!_known.TryGetValue(field, out bool known))
        {
            _known[field] = known = MayBeLookedAt(field) && Outermost(field.DeclaringType) is var type && MethodsOf(type).All(method => AllMarked(method, field));
        }

        return known;
    }

    private static bool IsText(TypeReference type) => type.MetadataType == MetadataType.String;

    // All its stores are in its class: it is private, or a text that only the static constructor stores.
    private bool MayBeLookedAt(FieldDefinition field) => field.IsStatic && !field.HasConstant && world.IsFramework(field.DeclaringType) && !field.DeclaringType.HasGenericParameters
        && (field.IsPrivate || (field.IsInitOnly && IsText(field.FieldType)))
        && field.CustomAttributes.All(attribute => attribute.AttributeType.Name != "ThreadStaticAttribute");

    private static TypeDefinition Outermost(TypeDefinition type) => type.DeclaringType is { } outer ? Outermost(outer) : type;

    private static IEnumerable<MethodDefinition> MethodsOf(TypeDefinition type) => type.Methods.Concat(type.NestedTypes.SelectMany(MethodsOf));

    private static bool AllMarked(MethodDefinition method, FieldDefinition field)
    {
        if (!method.HasBody)
        {
            return true;
        }

        foreach (Instruction use in method.Body.Instructions.Where(instruction => instruction.Operand is FieldReference used && used.Name == field.Name && used.DeclaringType.FullName == field.DeclaringType.FullName))
        {
            bool marked = use.OpCode.Code switch
            {
                Code.Stsfld => IsMarkedStore(method.Body, use, IsText(field.FieldType) ? Share : ShareElements),
                Code.Ldsfld when IsText(field.FieldType) => true,
                Code.Ldsfld => IsMarkedUse(method, use),
                _ => false,
            };
            if (!marked)
            {
                return false;
            }
        }

        return true;
    }

    // What is stored was marked just before: dup, call Share. Of an array, whose texts are marked then, also that it is new: nobody else has it. Or it is null or a literal.
    private static bool IsMarkedStore(MethodBody body, Instruction store, string mark)
    {
        if (KnownMethods.IsTarget(body, store))
        {
            return false;  // another way leads here, with another value
        }

        Instruction? before = KnownMethods.BehindMark(store, mark);
        return before is null
            ? store.Previous?.OpCode.Code is Code.Ldnull || (mark == Share && store.Previous?.OpCode.Code is Code.Ldstr)
            : mark == Share || (before.OpCode.Code is Code.Newarr or Code.Stelem_Ref && !KnownMethods.IsTarget(body, before.Next));
    }

    // Of the array: nobody gets it, and what goes into it is marked.
    private static bool IsMarkedUse(MethodDefinition method, Instruction load) => StackEffect.UserOf(load, out int above) is { } user && (user.OpCode.Code, above) switch
    {
        (Code.Ldlen, 0) or (Code.Brtrue or Code.Brtrue_S or Code.Brfalse or Code.Brfalse_S, 0) or (Code.Ldelem_Ref, 1) => true,
        (Code.Stelem_Ref, 2) => IsMarkedStore(method.Body, user, Share),
        _ => false,
    };
}
