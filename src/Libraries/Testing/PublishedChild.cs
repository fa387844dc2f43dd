using System.Diagnostics;
using System.Security.Cryptography;
using System.Text;

namespace Freehold.Testing;

/// <summary>The child's executable: published by the first test that needs it, and only if the test assembly or something beside it is not what it was at the last publish.</summary>
internal static class PublishedChild
{
    private const string Name = "freehold-test-child";

    private static readonly Lock s_lock = new();
    private static (ChildSettings Settings, string Executable)? s_published;

    /// <summary>The path of the executable.</summary>
    /// <exception cref="PublishedTestException">The publish failed.</exception>
    internal static string Get(ChildSettings settings)
    {
        lock (s_lock)
        {
            if (s_published is not { } published || published.Settings != settings)
            {
                s_published = published = (settings, Publish(settings));
            }

            return published.Executable;
        }
    }

    private static string Publish(ChildSettings settings)
    {
        if (!File.Exists(settings.Project))
        {
            throw new PublishedTestException($"Freehold.Testing: the project of the child, {settings.Project}, is gone. Build the test project again, on this machine.");
        }

        string folder = Path.GetDirectoryName(settings.Project)!, executable = Path.Combine(folder, "publish", Name), stamp = Path.Combine(folder, "publish.stamp");
        // Another run of the same tests may be publishing.
        using FileStream locked = TakeLock(Path.Combine(folder, "publish.lock"));
        string content = ContentOf(settings);
        if (File.Exists(executable) && File.Exists(stamp) && File.ReadAllText(stamp) == content)
        {
            return executable;
        }

        File.Delete(stamp);
        (int exitCode, string output) = RunPublish(settings, folder);
        if (exitCode != 0 || !File.Exists(executable))
        {
            string command = $"{settings.DotNet} publish {settings.Project}";
            throw new PublishedTestException($"Freehold.Testing: the test project could not be published as a child (exit code {exitCode} of '{command}'):\n{Errors(output)}");
        }

        File.WriteAllText(stamp, content);
        return executable;
    }

    private static FileStream TakeLock(string path)
    {
        while (true)
        {
            try
            {
                return new FileStream(path, FileMode.OpenOrCreate, FileAccess.ReadWrite, FileShare.None);
            }
            catch (IOException) when (File.Exists(path))
            {
                Thread.Sleep(200);
            }
        }
    }

    // A hash, not times: a build that changes nothing writes the same assemblies again.
    private static string ContentOf(ChildSettings settings)
    {
        using var hash = IncrementalHash.CreateHash(HashAlgorithmName.SHA256);
        string[] files = [settings.Project, .. Directory.GetFiles(settings.Folder, "*.dll").Order(StringComparer.Ordinal)];
        foreach (string file in files)
        {
            hash.AppendData(Encoding.UTF8.GetBytes(Path.GetFileName(file)));
            hash.AppendData(SHA256.HashData(File.ReadAllBytes(file)));
        }

        return Convert.ToHexString(hash.GetHashAndReset());
    }

    private static (int ExitCode, string Output) RunPublish(ChildSettings settings, string folder)
    {
        var start = new ProcessStartInfo(settings.DotNet, ["publish", settings.Project, "-nologo", "-v", "quiet", "-o", Path.Combine(folder, "publish"), "-nodeReuse:false"])
        {
            WorkingDirectory = folder,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };
        // What a test host, a collector of coverage or a debugger has set for this process is not for the build.
        string[] foreign = ["MSBUILD", "VSTEST", "CORECLR_", "COR_", "COMPLUS_", "DOTNET_STARTUP_HOOKS", "DOTNET_gc", "TESTINGPLATFORM"];
        foreach (string variable in start.Environment.Keys.Where(key => foreign.Any(prefix => key.StartsWith(prefix, StringComparison.OrdinalIgnoreCase))).ToList())
        {
            start.Environment.Remove(variable);
        }

        return CapturedProcess.Run(start, TimeSpan.FromMinutes(30)) is { ExitCode: int exitCode, Output: string output } ? (exitCode, output) : throw new PublishedTestException("Freehold.Testing: the publish of the child did not end within 30 minutes.");
    }

    // The errors, once each, if it says such; else all of it.
    private static string Errors(string output)
    {
        List<string> errors = [.. output.Split('\n').Select(line => line.Trim()).Where(line => line.Contains("error", StringComparison.OrdinalIgnoreCase)).Distinct()];
        return errors.Count != 0 ? string.Join('\n', errors) : output.Trim();
    }
}
