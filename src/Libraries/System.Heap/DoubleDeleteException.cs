namespace System;

/// <summary>Thrown when <see cref="Heap.Delete"/> is called for an object that was deleted before. Nothing is freed twice.</summary>
public class DoubleDeleteException : InvalidOperationException
{
    private const string DefaultMessage = "The object was deleted before.";

    private readonly ObjectHistory _history;
    private string? _message;

    /// <summary>Makes an exception with the default message.</summary>
    public DoubleDeleteException()
        : base(DefaultMessage)
    {
    }

    /// <summary>Makes an exception with a message.</summary>
    /// <param name="message">Which object was deleted twice.</param>
    public DoubleDeleteException(string? message)
        : base(message ?? DefaultMessage)
    {
    }

    /// <summary>Makes an exception with a message and a cause.</summary>
    /// <param name="message">Which object was deleted twice.</param>
    /// <param name="innerException">What led here, or null.</param>
    public DoubleDeleteException(string? message, Exception? innerException)
        : base(message ?? DefaultMessage, innerException)
    {
    }

    /// <summary>The exception for an object of which the heap may know more.</summary>
    internal DoubleDeleteException(ObjectHistory history)
        : base(DefaultMessage) => _history = history;

    /// <summary>
    /// Says that the object was deleted before; with <c>FREEHOLD_DEBUG=1</c> its type too, and with <c>FREEHOLD_DEBUG=stacks</c> where it was allocated and
    /// deleted the first time. The same of an object that <c>FREEHOLD_SAMPLE</c> has chosen.
    /// </summary>
    public override string Message => _history.IsKnown ? _message ??= _history.Describe("The ", " was deleted before.") : base.Message;
}
