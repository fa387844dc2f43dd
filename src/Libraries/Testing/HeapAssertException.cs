namespace Freehold.Testing;

/// <summary>An assertion of <see cref="HeapAssert"/> does not hold. Every test framework shows it as a failed test.</summary>
public class HeapAssertException : Exception
{
    /// <summary>Makes an exception.</summary>
    /// <param name="message">What does not hold, and what was found instead.</param>
    public HeapAssertException(string message)
        : base(message)
    {
    }

    /// <summary>Makes an exception with a cause.</summary>
    /// <param name="message">What does not hold, and what was found instead.</param>
    /// <param name="innerException">What was thrown instead of what should have been.</param>
    public HeapAssertException(string message, Exception? innerException)
        : base(message, innerException)
    {
    }
}
