using System.Diagnostics;

namespace Freehold.Differential.Programs;

/// <summary>This program started again, with its input and output as pipes.</summary>
internal static partial class ProcessPipes
{
    public const string ChildVerb = "child";

    public static void Run() => RunAsync().GetAwaiter().GetResult();

    /// <summary>The other side: echoes its input in capitals, or exits with a given code.</summary>
    public static int Child(string[] arguments)
    {
        if (arguments is ["exit", string code])
            return int.Parse(code);
        Console.Error.WriteLine("variable " + Environment.GetEnvironmentVariable("FH_CHILD"));
        while (Console.ReadLine() is { } line)
            Console.WriteLine(line.ToUpperInvariant());
        return 0;
    }

    private static ProcessStartInfo Start(params string[] arguments)
    {
        var start = new ProcessStartInfo(Environment.ProcessPath!) { RedirectStandardInput = true, RedirectStandardOutput = true, RedirectStandardError = true, UseShellExecute = false };
        start.ArgumentList.Add(ChildVerb);
        foreach (string argument in arguments)
            start.ArgumentList.Add(argument);
        start.Environment["FH_CHILD"] = "set";
        return start;
    }

    private static async Task RunAsync()
    {
        using (Process echo = Process.Start(Start())!)
        {
            Task<string> output = echo.StandardOutput.ReadToEndAsync();
            Task<string> error = echo.StandardError.ReadToEndAsync();
            for (int i = 0; i < 2_000; i++)
                await echo.StandardInput.WriteLineAsync("line " + i);
            echo.StandardInput.Close();
            var sum = new Checksum();
            sum.Add(await output);
            await echo.WaitForExitAsync();
            Console.WriteLine(sum + " " + (await error).Contains("variable set") + " " + echo.ExitCode);
        }
        using (Process exit = Process.Start(Start("exit", "37"))!)
        {
            exit.WaitForExit();
            Console.WriteLine(exit.ExitCode);
        }
        using (Process killed = Process.Start(Start())!)
        {
            killed.Kill();
            Console.WriteLine(killed.WaitForExit(20_000) + " " + (killed.ExitCode != 0));
        }
        try
        {
            Process.Start("/definitely/not/a/program");
        }
        catch (System.ComponentModel.Win32Exception exception)
        {
            Console.WriteLine(exception.NativeErrorCode);
        }
    }
}
