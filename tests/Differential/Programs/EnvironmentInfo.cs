namespace Freehold.Differential.Programs;

/// <summary>Environment variables, command line, switches and host facts.</summary>
internal static partial class EnvironmentInfo
{
    public static void Run()
    {
        Environment.SetEnvironmentVariable("FH_DIFF", "one");
        Console.WriteLine(Environment.GetEnvironmentVariable("FH_DIFF") + " " + Environment.ExpandEnvironmentVariables("%FH_DIFF%-%MISSING%"));
        Environment.SetEnvironmentVariable("FH_DIFF", null);
        Console.WriteLine(Environment.GetEnvironmentVariable("FH_DIFF") is null);
        for (int i = 0; i < 500; i++)
            Environment.SetEnvironmentVariable("FH_" + i, new string('v', i % 50));
        Console.WriteLine(Environment.GetEnvironmentVariables().Keys.Cast<string>().Count(key => key.StartsWith("FH_", StringComparison.Ordinal)));
        Console.WriteLine(Environment.GetCommandLineArgs().Length + " " + Environment.NewLine.Length + " " + Environment.Is64BitProcess);
        Console.WriteLine((Environment.TickCount64 > 0) + " " + (Environment.ProcessId > 0) + " " + (Environment.CurrentManagedThreadId > 0) + " " + Environment.Version.Major);
        AppContext.SetSwitch("Freehold.Test", true);
        Console.WriteLine(AppContext.TryGetSwitch("Freehold.Test", out bool on) + " " + on);
        AppContext.SetData("Freehold.Data", new List<int> { 1 });
        Console.WriteLine(((List<int>)AppContext.GetData("Freehold.Data")!).Count);
        Console.WriteLine(System.Runtime.InteropServices.RuntimeInformation.ProcessArchitecture + " " + OperatingSystem.IsLinux() + " " + System.Runtime.CompilerServices.RuntimeFeature.IsDynamicCodeSupported);
        Console.WriteLine(Environment.WorkingSet > 0);
    }
}
