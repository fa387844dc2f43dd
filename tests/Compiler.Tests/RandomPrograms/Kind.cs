namespace Freehold.Compiler.Tests.RandomPrograms;

/// <summary>The types of the values in a random program.</summary>
internal enum Kind
{
    /// <summary>A number.</summary>
    Number,

    /// <summary>A class with references to itself, and classes below it.</summary>
    Node,

    /// <summary>An interface of classes and structures.</summary>
    Thing,

    /// <summary>Anything.</summary>
    Object,

    /// <summary>An array of nodes.</summary>
    Nodes,

    /// <summary>A structure with references.</summary>
    Pair,

    /// <summary>A generic container of one node.</summary>
    Cell,

    /// <summary>A delegate.</summary>
    Function,

    /// <summary>A list of nodes.</summary>
    List,

    /// <summary>Text.</summary>
    Text,
}
