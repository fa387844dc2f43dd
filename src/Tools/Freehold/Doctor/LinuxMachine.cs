using System.Diagnostics;
using System.Runtime.InteropServices;

namespace Freehold.Tool.Doctor;

/// <summary>The machine that the tool runs on.</summary>
internal sealed partial class LinuxMachine : IMachine
{
    // Numbers of x86-64.
    private const nint SysClose = 3;
    private const nint SysUserfaultfd = 323;
    private const nint SysMembarrier = 324;

    public bool IsLinux => OperatingSystem.IsLinux();

    public Architecture Architecture => RuntimeInformation.OSArchitecture;

    public string CurrentDirectory => Environment.CurrentDirectory;

    public string? Variable(string name) => Environment.GetEnvironmentVariable(name) is { Length: > 0 } value ? value : null;

    public string? ReadFile(string path)
    {
        try
        {
            return File.ReadAllText(path);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return null;
        }
    }

    public bool HasDirectory(string path) => Directory.Exists(path);

    public IReadOnlyList<string> Projects(string folder)
    {
        try
        {
            return Directory.GetFiles(folder, "*.*proj");
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return [];
        }
    }

    public bool CanWrite(string folder)
    {
        // Where it is not there yet, it will be made: what counts is the next folder above.
        string? existing = folder;
        while (existing is not null && !Directory.Exists(existing))
        {
            existing = Path.GetDirectoryName(existing);
        }

        if (existing is null)
        {
            return false;
        }

        try
        {
            // A new file of a name that nobody can have put a link in the place of.
            string file = Path.Combine(existing, $".freehold-doctor-{Path.GetRandomFileName()}");
            using (new FileStream(file, FileMode.CreateNew, FileAccess.Write, FileShare.None, 1, FileOptions.DeleteOnClose))
            {
                return true;
            }
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return false;
        }
    }

    public bool HasProgram(string name) =>
        (Environment.GetEnvironmentVariable("PATH") ?? "").Split(':', StringSplitOptions.RemoveEmptyEntries).Any(folder => IsExecutable(Path.Combine(folder, name)));

    public string? Run(string program, params string[] arguments)
    {
        try
        {
            using var process = Process.Start(new ProcessStartInfo(program, arguments) { RedirectStandardOutput = true, RedirectStandardError = true, RedirectStandardInput = true })!;
            process.StandardInput.Close();
            Task<string> error = process.StandardError.ReadToEndAsync();
            string output = process.StandardOutput.ReadToEnd();
            process.WaitForExit();
            error.Wait();
            return process.ExitCode == 0 ? output : null;
        }
        catch (System.ComponentModel.Win32Exception)
        {
            return null;
        }
    }

    public bool AllowsUserfaultfd()
    {
        const nint CloseOnExec = 0x80000, UserModeOnly = 1;
        if (!IsLinux || Architecture != Architecture.X64)
        {
            return false;
        }

        nint descriptor = SystemCall(SysUserfaultfd, CloseOnExec | UserModeOnly, 0);
        if (descriptor < 0)
        {
            return false;
        }

        SystemCall(SysClose, descriptor, 0);
        return true;
    }

    public bool AllowsMembarrier()
    {
        const nint Query = 0, PrivateExpedited = 8;
        nint known = IsLinux && Architecture == Architecture.X64 ? SystemCall(SysMembarrier, Query, 0) : -1;
        return known >= 0 && (known & PrivateExpedited) != 0;
    }

    private static bool IsExecutable(string path) =>
        File.Exists(path) && (File.GetUnixFileMode(path) & (UnixFileMode.UserExecute | UnixFileMode.GroupExecute | UnixFileMode.OtherExecute)) != 0;

    [LibraryImport("libc", EntryPoint = "syscall", SetLastError = true)]
    private static partial nint SystemCall(nint number, nint first, nint second);
}
