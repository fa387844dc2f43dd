using System;

namespace Freehold.Rewriter.Analysis;

/// <summary>What is known of a value on the evaluation stack: the union of all that it may be.</summary>
[Flags]
public enum StackValue : ushort
{
    /// <summary>Nothing yet.</summary>
    None = 0,

    /// <summary>Null.</summary>
    Null = 1,

    /// <summary>A string literal: frozen, it has one name for ever.</summary>
    Literal = 2,

    /// <summary>A type object of the runtime: frozen too.</summary>
    RuntimeType = 4,

    /// <summary>Any other object reference.</summary>
    Object = 8,

    /// <summary>A managed pointer.</summary>
    Reference = 16,

    /// <summary>Comes from a pinned local, or leads to the stack or to data of the executable: a modifier of <see cref="Object"/> and <see cref="Reference"/>.</summary>
    Pinned = 32,

    /// <summary>A number that was made of a reference that is not pinned, by conversion or by reading it as a number: its address at that moment.</summary>
    Address = 64,

    /// <summary>Anything that is no reference: numbers, raw pointers, handles, structs.</summary>
    Number = 128,

    /// <summary>A value of a generic parameter, as it is without box.</summary>
    Generic = 256,

    /// <summary>A value of a type that could not be resolved.</summary>
    Unresolved = 512,

    /// <summary>Leads to a place that holds an object reference, a modifier of <see cref="Reference"/> and <see cref="Number"/>: what is read there as a number is an <see cref="Address"/>.</summary>
    ToObject = 1024,

    /// <summary>All object references.</summary>
    AnyObject = Null | Literal | RuntimeType | Object,

    /// <summary>Object references that nothing ever moves: another name of the same object does not exist.</summary>
    Immovable = Null | Literal | RuntimeType,
}
