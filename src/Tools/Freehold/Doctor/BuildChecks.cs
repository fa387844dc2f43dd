using System.Globalization;
using System.Reflection;

namespace Freehold.Tool.Doctor;

/// <summary>What a publish needs: SDK, packages, linker, a cache.</summary>
internal static class BuildChecks
{
    private static readonly Version s_leastSdk = new(10, 0, 100);

    // As src/Package has them.
    private static readonly string[] s_linkers = ["clang", "gcc"];

    /// <summary>The versions of ILCompiler that this version of Freehold knows.</summary>
    public static IReadOnlyList<string> RuntimeVersions { get; } =
        typeof(BuildChecks).Assembly.GetCustomAttributes<AssemblyMetadataAttribute>().Single(attribute => attribute.Key == "RuntimeVersions").Value!.Split(';');

    public static IEnumerable<Finding> Run(IMachine machine) => [Sdk(machine), .. RuntimeVersions.Select(version => Packages(machine, version)), Linker(machine), Cache(machine)];

    private static Finding Sdk(IMachine machine)
    {
        const string Cure = "Install the .NET SDK 10.0 or later (on Debian and Ubuntu the package dotnet-sdk-10.0).";
        if (machine.Run("dotnet", "--list-sdks") is not { } list)
        {
            return Finding.Problem("SDK", "there is no program 'dotnet' in PATH that lists its SDKs, so nothing can be published here. Published programs run without.", Cure);
        }

        // "10.0.401 [/usr/share/dotnet/sdk]"; a preview has a name behind its number.
        string[] versions = [.. list.Split('\n', StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries).Select(line => line.Split(' ')[0])];
        string? newest = versions.Where(text => Version.TryParse(text.Split('-')[0], out Version? version) && version >= s_leastSdk).MaxBy(text => Version.Parse(text.Split('-')[0]));
        return newest is not null
            ? Finding.Good("SDK", newest)
            : Finding.Problem("SDK", $"Freehold needs the .NET SDK 10.0.100 or later to publish (FH0010); here are {(versions.Length == 0 ? "none" : string.Join(", ", versions))}.", Cure);
    }

    private static Finding Packages(IMachine machine, string version)
    {
        string folder = machine.Variable("NUGET_PACKAGES") ?? Path.Combine(machine.Variable("HOME") ?? "/", ".nuget", "packages");
        string compiler = Path.Combine(folder, "runtime.linux-x64.microsoft.dotnet.ilcompiler", version), framework = string.Create(CultureInfo.InvariantCulture, $"net{version.Split('.')[0]}.0");
        return machine.HasDirectory(compiler)
            ? Finding.Good("packages", $"ILCompiler {version}, for {framework}, is in {folder}")
            : Finding.Note("packages", $"ILCompiler {version} is not in {folder}: the first publish of a project for {framework} downloads it, and needs a source that has it.");
    }

    private static Finding Linker(IMachine machine) =>
        Array.Find(s_linkers, machine.HasProgram) is { } linker
            ? Finding.Good("linker", $"{linker} links published programs")
            : Finding.Problem("linker", "neither clang nor gcc is in PATH, so a publish cannot link (FH0004).", "Install one: on Debian and Ubuntu 'apt-get install gcc zlib1g-dev' or 'apt-get install clang lld llvm zlib1g-dev'.");

    private static Finding Cache(IMachine machine)
    {
        string folder = machine.Variable("XDG_CACHE_HOME") is { } cache ? Path.Combine(cache, "freehold") : Path.Combine(machine.Variable("HOME") ?? "/", ".cache", "freehold");
        return machine.CanWrite(folder)
            ? Finding.Good("cache", $"the rewritten framework is kept in {folder}")
            : Finding.Problem("cache", $"{folder} cannot be written to, and a publish keeps the rewritten framework there.", "Make it writable, or set the property FreeholdCacheDirectory to another folder.");
    }
}
