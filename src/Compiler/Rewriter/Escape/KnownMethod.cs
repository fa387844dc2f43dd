namespace Freehold.Rewriter.Escape;

/// <summary>What a method does that has no body, or one that the compiler does not compile.</summary>
internal enum KnownMethod
{
    /// <summary>Keeps and returns nothing.</summary>
    Nothing,

    /// <summary>Keeps nothing, and returns what others know.</summary>
    GivesOther,

    /// <summary>Returns an argument, or an address in it.</summary>
    GivesArguments,

    /// <summary>Returns what is at the address that it is given.</summary>
    Reads,

    /// <summary>Stores the second argument at the address that is the first, and may return what was there.</summary>
    Writes,

    /// <summary>Copies from the second address to the first.</summary>
    Copies,

    /// <summary>Copies from the first array that it is given to the second one.</summary>
    CopiesArray,

    /// <summary>Returns a new object.</summary>
    Allocates,

    /// <summary>What the memory of the first one, the address of a span, holds, into the memory of the second one, a span.</summary>
    CopiesSpan,
}
