using System.ComponentModel;
using System.Diagnostics.CodeAnalysis;

namespace Freehold.Testing;

/// <summary>The program of the child. Not for tests to call.</summary>
[EditorBrowsable(EditorBrowsableState.Never)]
public static class TestChild
{
    /// <summary>Runs the call of a test.</summary>
    /// <param name="arguments">Where the call is, and where the result is to be.</param>
    /// <returns>The exit code.</returns>
    [SuppressMessage("Design", "CA1031:Do not catch general exception types", Justification = "Whatever a test throws is its result.")]
    public static int Run(string[] arguments)
    {
        if (arguments is not [string request, string answer])
        {
            Console.Error.WriteLine("This program is published by Freehold.Testing, which gives it a test to run.");
            return 2;
        }

        Exception? thrown = null;
        try
        {
            if (!Heap.IsManual)
            {
                throw new InvalidOperationException("The child was published with the stock garbage collector: FreeholdEnabled=false is set, as a property or an environment variable.");
            }

            Action test = TestCall.Read(File.ReadAllBytes(request), out Assertion assertion, out long number);
            HeapChecks.Apply(assertion, number, test);
        }
        catch (Exception exception)
        {
            thrown = exception;
        }

        // Whole or not at all: the test may have left threads that end the process.
        string written = answer + ".new";
        File.WriteAllBytes(written, TestResult.Of(thrown).Write());
        File.Move(written, answer);
        return 0;
    }
}
