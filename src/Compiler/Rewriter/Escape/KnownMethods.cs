using System;
using System.Collections.Generic;
using System.Linq;
using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Rewriter.Escape;

/// <summary>Methods without IL that is true, and static fields whose value is a constant.</summary>
internal sealed class KnownMethods(ClosedWorld world)
{
    private readonly Dictionary<FieldDefinition, bool> _constants = [];
    private readonly Dictionary<MethodDefinition, KnownMethod?> _models = [];

    /// <summary>Static fields whose texts a deletion leaves.</summary>
    public SharedTexts Texts { get; } = new(world);

    /// <summary>What a method does, if it is known by name.</summary>
    public KnownMethod? ModelOf(MethodDefinition method)
    {
        if (!_models.TryGetValue(method, out KnownMethod? model))
        {
            _models[method] = model = Find(method);
        }

        return model;
    }

    private KnownMethod? Find(MethodDefinition method) => method.DeclaringType.FullName switch
    {
        "System.Runtime.CompilerServices.Unsafe" => OfUnsafe(method.Name),
        "System.Threading.Volatile" => method.Name switch { "Read" => KnownMethod.Reads, "Write" => KnownMethod.Writes, _ => null },
        "System.Threading.Interlocked" when method.Name is "Exchange" or "CompareExchange" => KnownMethod.Writes,
        // A span is known by what it is over: by their IL, which goes through the span's own address, the memory would be stored below itself.
        "System.Span`1" or "System.ReadOnlySpan`1" when method.IsConstructor && method.HasParameters => KnownMethod.Writes,
        "System.Span`1" or "System.ReadOnlySpan`1" when method.Name == "op_Implicit" => KnownMethod.GivesArguments,
        "System.Span`1" or "System.ReadOnlySpan`1" when method.Name is "CopyTo" or "TryCopyTo" => KnownMethod.CopiesSpan,
        // The marks of the rewritten framework.
        _ when method.DeclaringType.Name == "FreeholdRuntime" && world.IsFramework(method.DeclaringType) && method.Name is "Share" or "ShareElements" => KnownMethod.Nothing,
        "System.GC" when method.Name is "AllocateUninitializedArray" or "AllocateArray" => KnownMethod.Allocates,
        "System.SR" when method.ReturnType.MetadataType == MetadataType.String && method.Parameters.All(parameter => parameter.ParameterType.MetadataType == MetadataType.String)
            && method.Name != "Format" => KnownMethod.GivesOther,
        "System.Object" when method.Name is "GetType" or "GetMethodTable" => KnownMethod.GivesOther,
        "System.Runtime.CompilerServices.RuntimeHelpers" when method.Name == "GetMethodTable" => KnownMethod.GivesOther,
        "System.Runtime.InteropServices.MemoryMarshal" when method.Name == "GetArrayDataReference" => KnownMethod.GivesArguments,
        "System.Array" when method.Name is "Copy" or "ConstrainedCopy" => KnownMethod.CopiesArray,
        "System.Array" when method.Name == "Clear" => KnownMethod.Nothing,
        "System.Type" when method.Name == "GetTypeFromHandle" => KnownMethod.GivesOther,
        "System.Threading.Monitor" when method.Name is "Enter" or "Exit" or "TryEnter" or "IsEntered" => KnownMethod.Nothing,
        "System.GC" when method.Name is "KeepAlive" or "SuppressFinalize" => KnownMethod.Nothing,
        "System.Runtime.CompilerServices.RuntimeHelpers" when method.Name is "InitializeArray" => KnownMethod.Nothing,
        "System.SpanHelpers" or "System.Buffer" when method.Name is "Memmove" or "BulkMoveWithWriteBarrier" && method.Parameters.Count == 3 => KnownMethod.Copies,
        _ when method.DeclaringType.Namespace.StartsWith("System.Runtime.Intrinsics", StringComparison.Ordinal) => KnownMethod.Nothing,  // numbers, to and from memory
        _ when !HasBody(method) => OfSymbol(ImportedSymbol(method) ?? method.Name),
        _ => null,
    };

    private static KnownMethod? OfUnsafe(string name) => name switch
    {
        "Read" or "ReadUnaligned" => KnownMethod.Reads,
        "Write" or "WriteUnaligned" => KnownMethod.Writes,
        "Copy" or "CopyBlock" or "CopyBlockUnaligned" => KnownMethod.Copies,
        "AreSame" or "IsAddressGreaterThan" or "IsAddressLessThan" or "IsAddressGreaterThanOrEqualTo" or "IsAddressLessThanOrEqualTo" or "IsNullRef" or "SizeOf" or "ByteOffset"
            or "InitBlock" or "InitBlockUnaligned" or "SkipInit" or "NullRef" => KnownMethod.Nothing,
        _ => KnownMethod.GivesArguments,
    };

    // Those of the runtime, and those that the other passes call.
    private static KnownMethod? OfSymbol(string symbol) => symbol switch
    {
        "RhNewString" or "RhNewArray" or "RhpNewArray" => KnownMethod.Allocates,
        "memmove" or "freehold_memmove" or "RhBulkMoveWithWriteBarrier" => KnownMethod.Copies,
        "memset" or "freehold_memset" or "FreeholdOutgrown" or "RhpGcPoll" or "freehold_is_same" or "freehold_difference" => KnownMethod.Nothing,
        "freehold_pin" or "freehold_current_address" => KnownMethod.GivesArguments,
        _ => null,
    };

    private static string? ImportedSymbol(MethodDefinition method) =>
        method.CustomAttributes.FirstOrDefault(attribute => attribute.AttributeType.Name == "RuntimeImportAttribute")?.ConstructorArguments[^1].Value as string;

    private static bool HasBody(MethodDefinition method) => method.HasBody && method.Body.Instructions.Count > 0;

    /// <summary>Whether the IL of a method says what it does: the compiler expands others by itself.</summary>
    public static bool HasTrueBody(MethodDefinition method)
    {
        if (!HasBody(method))
        {
            return false;
        }

        if (method.CustomAttributes.All(attribute => attribute.AttributeType.Name != "IntrinsicAttribute"))
        {
            return true;
        }

        bool returns = false;
        foreach (Instruction instruction in method.Body.Instructions)
        {
            if (instruction.Operand is MethodReference called && called.Name == method.Name && called.DeclaringType.Name == method.DeclaringType.Name)
            {
                return false;
            }

            returns |= instruction.OpCode.Code == Code.Ret;
        }

        return returns;
    }

    /// <summary>Whether a static field holds only null, a literal or an empty array, neither of which a deletion harms.</summary>
    public bool IsConstant(FieldReference reference)
    {
        FieldDefinition? field = world.Resolve(reference);
        if (field is not { IsInitOnly: true, IsStatic: true })
        {
            return false;
        }

        if (field.FullName == "System.String System.String::Empty")
        {
            return true;
        }

        if (!_constants.TryGetValue(field, out bool constant))
        {
            _constants[field] = constant = field.FieldType is ArrayType or { MetadataType: MetadataType.String } && IsConstant(field);
        }

        return constant;
    }

    // Stored once, in the static constructor, at once behind what makes it.
    private bool IsConstant(FieldDefinition field)
    {
        MethodDefinition? initializer = field.DeclaringType.Methods.FirstOrDefault(method => method is { IsConstructor: true, IsStatic: true, HasBody: true });
        Instruction[] uses = [.. initializer?.Body.Instructions.Where(instruction => instruction.Operand is FieldReference used && used.Name == field.Name && used.DeclaringType.Name == field.DeclaringType.Name) ?? []];
        if (uses is not [{ OpCode.Code: Code.Stsfld } store] || (BehindMark(store) ?? store.Previous) is not { } made || IsTarget(initializer!.Body, store) || IsTarget(initializer.Body, made) || IsTarget(initializer.Body, made.Next))
        {
            return false;  // a?.b ?? c, or c ? a : b
        }

        return made.OpCode.Code == Code.Ldstr
            || (made.OpCode.Code == Code.Newarr && made.Previous?.OpCode.Code == Code.Ldc_I4_0)
            || (made.Operand is MethodReference { Name: "Empty", DeclaringType.FullName: "System.Array" })
            || (made.OpCode.Code == Code.Ldsfld && IsConstant((FieldReference)made.Operand));
    }

    /// <summary>Of a store whose value was marked just before (<see cref="Passes.SharedObjects"/>): the instruction before that; null when it was not.</summary>
    internal static Instruction? BehindMark(Instruction store, string? mark = null) =>
        store.Previous is { OpCode.Code: Code.Call, Operand: MethodReference { DeclaringType.Name: "FreeholdRuntime" } called, Previous: { OpCode.Code: Code.Dup } dup } call
            && (called.Name == mark || (mark is null && called.Name is "Share" or "ShareElements")) ? dup.Previous : null;

    internal static bool IsTarget(MethodBody body, Instruction instruction) =>
        body.Instructions.Any(branch => branch.Operand is Instruction target ? target == instruction : branch.Operand is Instruction[] targets && targets.Contains(instruction));
}
