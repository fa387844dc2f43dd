namespace Freehold.Testing;

/// <summary>Runs a test in a child that is the test project, published with NativeAOT and Freehold: there <see cref="Heap"/> does what it says.</summary>
/// <remarks>
/// The package's targets write the child's project beside the test project's intermediate files; the first test that needs it publishes it, and again only when something of it has changed. Each call is a process of
/// its own. Where the heap is Freehold's already, the test runs at once where it is.
/// </remarks>
public static class PublishedTest
{
    /// <summary>Runs a test in a child.</summary>
    /// <param name="test">
    /// A static method, or a lambda. Of the variables that it captures the child gets copies; they must be numbers, texts, times or enumerations. A test class without fields is made anew there.
    /// </param>
    /// <param name="options">How; null for debug mode.</param>
    /// <exception cref="HeapAssertException">An assertion of <see cref="HeapAssert"/> did not hold in the child.</exception>
    /// <exception cref="PublishedTestException">The test threw another exception, the child crashed or did not end, it could not be published, or the test cannot run in another process.</exception>
    public static void Run(Action test, PublishedTestOptions? options = null)
    {
        ArgumentNullException.ThrowIfNull(test);
        if (Heap.IsManual)
        {
            TestCall.RefuseAsyncVoid(test);
            test();
        }
        else
        {
            Run(test, Assertion.None, 0, options ?? new PublishedTestOptions());
        }
    }

    /// <summary>The same for an asynchronous test. Returns when it has ended.</summary>
    /// <param name="test">As for <see cref="Run(Action, PublishedTestOptions?)"/>.</param>
    /// <param name="options">How; null for debug mode.</param>
    /// <exception cref="HeapAssertException">As for <see cref="Run(Action, PublishedTestOptions?)"/>.</exception>
    /// <exception cref="PublishedTestException">As for <see cref="Run(Action, PublishedTestOptions?)"/>.</exception>
    public static void Run(Func<Task> test, PublishedTestOptions? options = null)
    {
        ArgumentNullException.ThrowIfNull(test);
        if (Heap.IsManual)
        {
            test().GetAwaiter().GetResult();
        }
        else
        {
            Run(test, Assertion.None, 0, options ?? new PublishedTestOptions());
        }
    }

    internal static void Run(Delegate test, Assertion assertion, long number, PublishedTestOptions options)
    {
        byte[] call = TestCall.Write(test, assertion, number);
        ChildSettings settings = ChildSettings.Find(test.Method.DeclaringType!.Assembly.GetName().Name!, TestCall.Describe(test));
        ChildProcess.Run(PublishedChild.Get(settings), call, options, TestCall.Describe(test));
    }
}
