namespace Freehold.Testing;

/// <summary>What the child tells of a test: nothing, or the exception.</summary>
/// <param name="Passed">Whether the test ended without an exception.</param>
/// <param name="IsAssertion">Whether it threw <see cref="HeapAssertException"/>.</param>
/// <param name="ExceptionType">Full name of the type of what it threw.</param>
/// <param name="Message">Its message.</param>
/// <param name="StackTrace">Its stack trace, with those of what caused it.</param>
internal sealed record TestResult(bool Passed, bool IsAssertion, string ExceptionType, string Message, string StackTrace)
{
    internal static TestResult Of(Exception? exception) => exception is null
        ? new TestResult(true, false, "", "", "")
        : new TestResult(false, exception is HeapAssertException, exception.GetType().ToString(), exception.Message, exception.InnerException is null ? exception.StackTrace ?? "" : $"{exception.StackTrace}\ncaused by {exception.InnerException}");

    internal byte[] Write()
    {
        using var bytes = new MemoryStream();
        using var writer = new BinaryWriter(bytes);
        writer.Write(Passed);
        writer.Write(IsAssertion);
        writer.Write(ExceptionType);
        writer.Write(Message);
        writer.Write(StackTrace);
        return bytes.ToArray();
    }

    internal static TestResult Read(byte[] bytes)
    {
        using var reader = new BinaryReader(new MemoryStream(bytes));
        return new TestResult(reader.ReadBoolean(), reader.ReadBoolean(), reader.ReadString(), reader.ReadString(), reader.ReadString());
    }
}
