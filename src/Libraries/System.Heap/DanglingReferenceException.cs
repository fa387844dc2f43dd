namespace System;

/// <summary>
/// Thrown at the use of a reference whose object was deleted with <see cref="Heap.Delete"/> and whose memory is gone.
/// </summary>
/// <remarks>
/// A use of a deleted object either behaves as if the object were alive or throws this exception (point 2 of the safety contract);
/// with <c>FREEHOLD_DEBUG=1</c> (or <c>stacks</c>) every use throws.
/// </remarks>
public class DanglingReferenceException : SystemException
{
    private const string DefaultMessage = "The object that this reference leads to was deleted.";

    private readonly ObjectHistory _history;
    private string? _message;

    /// <summary>Makes an exception with the default message.</summary>
    public DanglingReferenceException()
        : base(DefaultMessage)
    {
    }

    /// <summary>Makes an exception with a message.</summary>
    /// <param name="message">What was used after it was deleted.</param>
    public DanglingReferenceException(string? message)
        : base(message ?? DefaultMessage)
    {
    }

    /// <summary>Makes an exception with a message and a cause.</summary>
    /// <param name="message">What was used after it was deleted.</param>
    /// <param name="innerException">What led here, or null.</param>
    public DanglingReferenceException(string? message, Exception? innerException)
        : base(message ?? DefaultMessage, innerException)
    {
    }

    /// <summary>The exception for an object of which the heap may know more.</summary>
    internal DanglingReferenceException(ObjectHistory history)
        : base(DefaultMessage) => _history = history;

    /// <summary>
    /// Says that the object was deleted; with <c>FREEHOLD_DEBUG=1</c> its type too, and with <c>FREEHOLD_DEBUG=stacks</c> where it was allocated and deleted.
    /// The same of an object that <c>FREEHOLD_SAMPLE</c> has chosen.
    /// </summary>
    public override string Message => _history.IsKnown ? _message ??= _history.Describe("The ", " that this reference leads to was deleted.") : base.Message;
}
