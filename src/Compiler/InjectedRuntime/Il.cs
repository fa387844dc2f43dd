using System.Runtime.Importing;
using Internal.Runtime;

namespace System.Runtime;

/// <summary>Operations on references that C# has no words for.</summary>
internal static unsafe class Il
{
    /// <summary>The address, as a number.</summary>
    [Instruction("conv.u")]
    public static extern nuint Number(object reference);

    /// <summary>The address, as a number.</summary>
    [Instruction("conv.u")]
    public static extern nuint Number(ref byte reference);

    /// <summary>The same place, of whatever type.</summary>
    [Instruction("")]
    public static extern ref byte Bytes<T>(ref T place);

    /// <summary>The same place, where a reference is.</summary>
    [Instruction("")]
    public static extern ref object Object<T>(ref T place);

    /// <summary>The reference at a place.</summary>
    [Instruction("ldind.ref")]
    public static extern object Reference(ref byte place);

    /// <summary>Whether two addresses are equal.</summary>
    [Instruction("ceq")]
    public static extern bool Equal(ref byte left, ref byte right);

    /// <summary>Whether the first address is lower.</summary>
    [Instruction("clt.un")]
    public static extern bool Less(ref byte left, ref byte right);

    /// <summary>Whether the first address is higher.</summary>
    [Instruction("cgt.un")]
    public static extern bool Greater(ref byte left, ref byte right);

    /// <summary>The distance of two addresses.</summary>
    [Instruction("sub")]
    public static extern nint Subtract(ref byte to, ref byte from);

    /// <summary>A place further up.</summary>
    [Instruction("add")]
    public static extern ref byte Add(ref byte place, nint distance);

    /// <summary>A place further up.</summary>
    [Instruction("add")]
    public static extern ref byte Add(ref byte place, nuint distance);

    /// <summary>A place in an object's header.</summary>
    [Instruction("sub")]
    public static extern ref int Subtract(ref MethodTable* start, int distance);

    /// <summary>A place in an object's header.</summary>
    [Instruction("sub")]
    public static extern ref uint Word(ref MethodTable* start, int distance);

    /// <summary>The same place, where an object starts.</summary>
    [Instruction("")]
    public static extern ref byte Start(ref MethodTable* start);

    /// <summary>An object, of which the fields are seen.</summary>
    [Instruction("")]
    public static extern ObjectLayout Layout(object reference);

    /// <summary>Nothing, with a value that was read.</summary>
    [Instruction("pop")]
    public static extern void Drop(byte value);
}
