namespace System;

/// <summary>Thrown when <see cref="Heap.Delete"/> is called for an object that was deleted before. Nothing is freed twice.</summary>
public class DoubleDeleteException : InvalidOperationException
{
    private const string DefaultMessage = "The object was deleted before.";

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
}
