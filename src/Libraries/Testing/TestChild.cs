using System.ComponentModel;
using System.Diagnostics.CodeAnalysis;
using System.Globalization;
using System.Runtime.InteropServices;

namespace Freehold.Testing;

/// <summary>The program of the child. Not for tests to call.</summary>
[EditorBrowsable(EditorBrowsableState.Never)]
public static partial class TestChild
{
    private const int OnParentsDeath = 1;  // PR_SET_PDEATHSIG
    private const int Kill = 9;

    /// <summary>Runs the call of a test.</summary>
    /// <param name="arguments">Where the call is, where the result is to be, and the process that waits for it.</param>
    /// <returns>The exit code.</returns>
    [SuppressMessage("Design", "CA1031:Do not catch general exception types", Justification = "Whatever a test throws is its result.")]
    public static int Run(string[] arguments)
    {
        if (arguments is not [string request, string answer, string parent])
        {
            Console.Error.WriteLine("This program is published by Freehold.Testing, which gives it a test to run.");
            return 2;
        }

        // The thread of the parent that has started this process waits for its end, so the two end together. It may be gone already.
        if (SetOption(OnParentsDeath, Kill, 0, 0, 0) == 0 && ParentId() != int.Parse(parent, CultureInfo.InvariantCulture))
        {
            return 2;
        }

        Exception? thrown = null;
        try
        {
            if (!Heap.IsManual)
            {
                throw new InvalidOperationException("The child was published with the stock garbage collector: FreeholdEnabled=false is set, as a property or an environment variable.");
            }

            Block test = TestCall.Read(File.ReadAllBytes(request), out Assertion assertion, out long number);
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
        if (thrown is not null)
        {
            // The test may have failed before it ended its threads, which nobody is to wait for.
            Environment.Exit(0);
        }

        return 0;
    }

    [LibraryImport("libc", EntryPoint = "prctl")]
    private static partial int SetOption(int option, nuint argument, nuint third, nuint fourth, nuint fifth);

    [LibraryImport("libc", EntryPoint = "getppid")]
    private static partial int ParentId();
}
