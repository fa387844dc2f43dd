namespace Freehold.Testing;

/// <summary>A test in the published child did not pass: it threw an exception, crashed, did not end; or it could not be run there. The message tells all of it.</summary>
/// <param name="message">What happened, what the child said, and what can be done.</param>
/// <param name="exceptionType">The full name of the type that the test threw in the child; null if it threw nothing.</param>
public sealed class PublishedTestException(string message, string? exceptionType = null) : Exception(message)
{
    /// <summary>The full name of the type of the exception that the test threw in the child. Null if it threw none.</summary>
    public string? ExceptionType { get; } = exceptionType;
}
