namespace System;

/// <summary>
/// Thrown at the use of a reference whose object was deleted with <see cref="Heap.Delete"/> and whose memory is gone.
/// </summary>
/// <remarks>
/// A use of a deleted object either behaves as if the object were alive or throws this exception (point 2 of the safety contract);
/// with <c>FREEHOLD_DEBUG=1</c> every use throws.
/// </remarks>
public class DanglingReferenceException : SystemException
{
    private const string DefaultMessage = "The object that this reference leads to was deleted.";

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

    /// <summary>The exception for a deleted object of a type that the heap remembers (<c>FREEHOLD_DEBUG=1</c>), or of an unknown one (0).</summary>
    internal static DanglingReferenceException For(nint methodTable)
    {
        if (methodTable == 0)
        {
            return new DanglingReferenceException();
        }

        Type? type = Type.GetTypeFromHandle(RuntimeTypeHandle.FromIntPtr(methodTable));
        return new DanglingReferenceException($"The {type} that this reference leads to was deleted.");
    }
}
