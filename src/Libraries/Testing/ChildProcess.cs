using System.Diagnostics;
using System.Globalization;

namespace Freehold.Testing;

/// <summary>One run of the child: the call goes to it in a file, the result comes back in another, so that whatever the test prints is not in the way.</summary>
internal static class ChildProcess
{
    private const int SignalBase = 128;

    /// <summary>Runs the call, and throws what the child tells of it.</summary>
    internal static void Run(string executable, byte[] call, PublishedTestOptions options, string test)
    {
        string folder = Directory.CreateTempSubdirectory("freehold-testing-").FullName;
        try
        {
            string request = Path.Combine(folder, "call"), answer = Path.Combine(folder, "result");
            File.WriteAllBytes(request, call);
            var start = new ProcessStartInfo(executable, [request, answer, Environment.ProcessId.ToString(CultureInfo.InvariantCulture)]);
            SetEnvironment(start.Environment, options);
            CapturedProcess process = CapturedProcess.Run(start, options.Timeout, () => File.Exists(answer));
            Report(process, File.Exists(answer) ? TestResult.Read(File.ReadAllBytes(answer)) : null, options, test);
        }
        finally
        {
            Delete(folder);
        }
    }

    // A process that the test has left may write there; that is no reason to hide what the child has told.
    private static void Delete(string folder)
    {
        try
        {
            Directory.Delete(folder, recursive: true);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
        }
    }

    private static void SetEnvironment(IDictionary<string, string?> environment, PublishedTestOptions options)
    {
        foreach (string name in environment.Keys.Where(name => name.StartsWith("FREEHOLD_", StringComparison.Ordinal)).ToList())
        {
            environment.Remove(name);
        }

        // What the test forgets to delete is to be found, not deleted meanwhile.
        environment["FREEHOLD_RECLAIM"] = "off";
        if (options.Debug)
        {
            environment["FREEHOLD_DEBUG"] = "stacks";
        }

        foreach ((string name, string value) in options.Environment)
        {
            environment[name] = value;
        }
    }

    private static void Report(CapturedProcess process, TestResult? result, PublishedTestOptions options, string test)
    {
        string said = process.Output.Length == 0 ? "" : $"\nIt said:\n{process.Output}";
        if (result is { Passed: false })
        {
            string message = $"{result.Message}\nIn the published child:\n{result.StackTrace}{said}";
            throw result.IsAssertion ? new HeapAssertException(message) : new PublishedTestException($"{result.ExceptionType}: {message}", result.ExceptionType);
        }

        if (process.ExitCode is not int exitCode)
        {
            throw new PublishedTestException(
                result is not null
                ? $"The test passed, but the published child did not end and was ended, in {test}: has it left a thread that is not IsBackground?{said}"
                : $"The published child did not end within {options.Timeout.TotalSeconds:0} s (PublishedTestOptions.Timeout) and was ended, in {test}.{said}");
        }

        if (exitCode > SignalBase && exitCode <= SignalBase + 64)
        {
            string when = result is null ? "" : ", behind the test, which had passed";
            throw new PublishedTestException($"The published child crashed, by {SignalName(exitCode - SignalBase)}, in {test}{when}.{said}");
        }

        if (result is null)
        {
            throw new PublishedTestException(
                $"The published child ended by itself in {test}, with exit code {exitCode.ToString(CultureInfo.InvariantCulture)} and before the test had: by Environment.Exit, or by an exception in a thread.{said}");
        }

        if (exitCode != 0)
        {
            throw new PublishedTestException($"The test passed, but the published child ended with exit code {exitCode.ToString(CultureInfo.InvariantCulture)}, in {test}.{said}");
        }

        if (process.Output.Length != 0)
        {
            Console.WriteLine(process.Output);
        }
    }

    private static string SignalName(int signal) => signal switch
    {
        4 => "SIGILL",
        6 => "SIGABRT (an unhandled exception, or Environment.FailFast)",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL (perhaps the kernel, without memory)",
        11 => "SIGSEGV",
        15 => "SIGTERM",
        _ => "signal " + signal.ToString(CultureInfo.InvariantCulture),
    };
}
