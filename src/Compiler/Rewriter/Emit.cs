using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Rewriter;

/// <summary>The instructions that passes write most, by what they do. Long forms: <see cref="IlEditing.EndEdit"/> makes short ones of them.</summary>
public static class Emit
{
    /// <summary>The value of a local.</summary>
    public static Instruction Load(VariableDefinition local) => Instruction.Create(OpCodes.Ldloc, local);

    /// <summary>The value of an argument.</summary>
    public static Instruction Load(ParameterDefinition argument) => Instruction.Create(OpCodes.Ldarg, argument);

    /// <summary>The object whose method it is.</summary>
    public static Instruction This() => Instruction.Create(OpCodes.Ldarg_0);

    /// <summary>No object.</summary>
    public static Instruction Null() => Instruction.Create(OpCodes.Ldnull);

    /// <summary>The value on the stack, once more.</summary>
    public static Instruction Again() => Instruction.Create(OpCodes.Dup);

    /// <summary>A number.</summary>
    public static Instruction Load(int number) => Instruction.Create(OpCodes.Ldc_I4, number);

    /// <summary>A field of the object, or of the structure at the address, on the stack.</summary>
    public static Instruction LoadField(FieldReference field) => Instruction.Create(OpCodes.Ldfld, field);

    /// <summary>Into a local.</summary>
    public static Instruction Store(VariableDefinition local) => Instruction.Create(OpCodes.Stloc, local);

    /// <summary>Into an argument.</summary>
    public static Instruction Store(ParameterDefinition argument) => Instruction.Create(OpCodes.Starg, argument);

    /// <summary>Into a field of the object that is below the value on the stack.</summary>
    public static Instruction StoreField(FieldReference field) => Instruction.Create(OpCodes.Stfld, field);

    /// <summary>The address of a field of the object, or of the structure at the address, on the stack.</summary>
    public static Instruction LoadAddress(FieldReference field) => Instruction.Create(OpCodes.Ldflda, field);

    /// <summary>True of false and false of true.</summary>
    public static Instruction[] Not() => [Instruction.Create(OpCodes.Ldc_I4_0), Instruction.Create(OpCodes.Ceq)];

    /// <summary>A call of this method.</summary>
    public static Instruction Call(MethodReference method) => Instruction.Create(OpCodes.Call, method);

    /// <summary>A call of what overrides this method.</summary>
    public static Instruction CallVirtual(MethodReference method) => Instruction.Create(OpCodes.Callvirt, method);

    /// <summary>The end of the method.</summary>
    public static Instruction Return() => Instruction.Create(OpCodes.Ret);

    /// <summary>A place to jump to.</summary>
    public static Instruction Label() => Instruction.Create(OpCodes.Nop);

    /// <summary>On from there.</summary>
    public static Instruction Jump(Instruction target) => Instruction.Create(OpCodes.Br, target);

    /// <summary>On from there unless the value is null, zero or false.</summary>
    public static Instruction JumpIfTrue(Instruction target) => Instruction.Create(OpCodes.Brtrue, target);

    /// <summary>On from there if the value is null, zero or false.</summary>
    public static Instruction JumpIfFalse(Instruction target) => Instruction.Create(OpCodes.Brfalse, target);

    /// <summary>On from there if both values are equal.</summary>
    public static Instruction JumpIfEqual(Instruction target) => Instruction.Create(OpCodes.Beq, target);

    /// <summary>On from there unless both values are equal.</summary>
    public static Instruction JumpUnlessEqual(Instruction target) => Instruction.Create(OpCodes.Bne_Un, target);
}
