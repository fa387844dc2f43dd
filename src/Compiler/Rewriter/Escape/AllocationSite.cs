using System.Collections.Generic;
using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Rewriter.Escape;

/// <summary>An instruction that makes an object, and what is known of that.</summary>
public sealed class AllocationSite(Instruction instruction, int node, TypeReference type)
{
    /// <summary>The instruction: <c>newobj</c>, <c>newarr</c>, <c>box</c>, or a call whose result may be new.</summary>
    public Instruction Instruction { get; } = instruction;

    /// <summary>The object, in the points-to graph; the next node is what its class keeps inside.</summary>
    public int Node { get; } = node;

    /// <summary>Its type, or a base of it.</summary>
    public TypeReference Type { get; } = type;

    /// <summary>The types that it can be of, exactly.</summary>
    public List<TypeReference> Types { get; } = [];

    /// <summary>It can be of another one too.</summary>
    public bool IsOfUnknownType { get; set; }

    /// <summary>Of a delegate, what it calls, if that is known.</summary>
    public MethodDefinition? Target { get; init; }

    /// <summary>Arguments that the call may give instead, by their bits; <c>this</c> is the first.</summary>
    public ulong MayBeArgument { get; set; }

    /// <summary>The instruction may give something else instead.</summary>
    public bool MayBeOther { get; set; }
}
