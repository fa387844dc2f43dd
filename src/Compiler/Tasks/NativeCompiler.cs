using System;
using System.Collections.Generic;
using System.ComponentModel;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Security.Cryptography;
using System.Text;
using System.Threading;

namespace Freehold.Tasks;

/// <summary>clang, and the compiler of handles, which is clang 19 with a pass.</summary>
internal sealed class NativeCompiler
{
    private const int HandlesVersion = 19;
    private static readonly string[] s_plain = ["clang-19", "clang"], s_forHandles = ["clang-19"];

    private readonly string _clang, _driver, _directory;
    private readonly CancellationToken _cancellation;

    /// <summary>Finds what is needed, and says what is missing.</summary>
    /// <param name="clang">The compiler that the project names; empty for the one in PATH.</param>
    /// <param name="package">The package's folder with the compiler of handles.</param>
    /// <param name="directory">Where the compilers run: paths in options begin there.</param>
    /// <param name="handles">Something is compiled with handles.</param>
    /// <param name="cancellation">Ends the compilers.</param>
    /// <exception cref="FreeholdException">FH0018.</exception>
    public NativeCompiler(string clang, string package, string directory, bool handles, CancellationToken cancellation)
    {
        _directory = directory;
        _cancellation = cancellation;
        _driver = Path.Combine(package, "bin", "freehold-cc");
        if (handles && !File.Exists(_driver))
        {
            throw Missing(
                $"This package has no compiler of handles ('{_driver}' is not there): it was packed where LLVM 19 was not installed. "
                + "Pack it where llvm-19-dev is, or set Handles=\"false\".");
        }

        string[] candidates = clang.Length != 0 ? [clang] : handles ? s_forHandles : s_plain;
        string? found = null, version = null;
        foreach (string candidate in candidates)
        {
            version = VersionOf(candidate);
            found = candidate;
            if (version is not null)
            {
                break;
            }
        }

        _clang = version is not null
            ? found!
            : throw Missing($"No clang: none of '{string.Join(' ', candidates)}' runs. Install it, on Debian with 'apt-get install clang-19', or set FreeholdClang to another one.");
        if (handles && !version.Contains($"clang version {HandlesVersion}.", StringComparison.Ordinal))
        {
            throw Missing(
                $"'{_clang}' says that it is '{version.Split('\n')[0]}', and the pass of handles is for clang {HandlesVersion}. "
                + "Install that, on Debian with 'apt-get install clang-19', or set FreeholdClang to it.");
        }

        string[] files = handles ? [.. Directory.EnumerateFiles(package, "*", SearchOption.AllDirectories).Order(StringComparer.Ordinal)] : [];
        Identity = version + string.Concat(files.Select(HashOf));
    }

    /// <summary>Says which compiler it is, with what belongs to it: what it makes is the same as long as this is.</summary>
    public string Identity { get; }

    /// <summary>The SHA-256 of a file.</summary>
    public static string HashOf(string file)
    {
        using FileStream stream = File.OpenRead(file);
        return Convert.ToHexStringLower(SHA256.HashData(stream));
    }

    /// <summary>The program and the arguments that come before all others.</summary>
    public IReadOnlyList<string> CommandOf(bool handles, bool cxx) => [handles ? _driver : _clang, .. cxx ? ["--driver-mode=g++"] : Array.Empty<string>()];

    /// <summary>Runs a command to its end.</summary>
    /// <returns>Its exit code, and what it said.</returns>
    public (int Code, string Output) Run(IReadOnlyList<string> command)
    {
        var start = new ProcessStartInfo(command[0], command.Skip(1))
        {
            WorkingDirectory = _directory,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };
        start.Environment["FREEHOLD_CLANG"] = _clang;
        start.Environment["LC_ALL"] = "C.UTF-8";
        var output = new StringBuilder();
        using Process process = Start(start);
        process.OutputDataReceived += Append;
        process.ErrorDataReceived += Append;
        process.BeginOutputReadLine();
        process.BeginErrorReadLine();
        using (_cancellation.Register(() => process.Kill(entireProcessTree: true)))
        {
            process.WaitForExit();
        }

        _cancellation.ThrowIfCancellationRequested();
        return (process.ExitCode, output.ToString());

        void Append(object sender, DataReceivedEventArgs line)
        {
            lock (output)
            {
                output.AppendLine(line.Data);
            }
        }
    }

    private Process Start(ProcessStartInfo start)
    {
        try
        {
            return Process.Start(start) ?? throw new IOException($"'{start.FileName}' does not start.");
        }
        catch (Win32Exception exception) when (start.FileName == _driver)
        {
            throw Missing($"The compiler of handles does not run: {exception.Message} Whoever publishes must be allowed to run it; restore the package as that user (NUGET_PACKAGES).");
        }
    }

    private static FreeholdException Missing(string text) => new("FH0018", text);

    private string? VersionOf(string clang)
    {
        try
        {
            (int code, string output) = Run([clang, "--version"]);
            return code == 0 ? output.Trim() : null;
        }
        catch (Win32Exception)
        {
            return null;
        }
    }
}
