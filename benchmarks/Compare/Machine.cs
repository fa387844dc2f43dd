using System.Globalization;
using System.Xml.Linq;

namespace Freehold.Compare;

/// <summary>What the figures depend on: the machine, and the versions of what was measured.</summary>
internal static class Machine
{
    public static Table Describe(Options options)
    {
        var versions = XDocument.Load(Path.Combine(options.Root, "eng", "Versions.props")).Descendants().Where(element => !element.HasElements && element.Name.LocalName.EndsWith("Version", StringComparison.Ordinal));
        var table = new Table("what", "found");
        table.Add("began", DateTime.UtcNow.ToString("yyyy-MM-dd HH:mm 'UTC'", CultureInfo.InvariantCulture));
        table.Add("commit", Said("git", "-C", options.Root, "describe", "--always", "--dirty", "--abbrev=12"));
        table.Add("processor", Field("/proc/cpuinfo", "model name"));
        table.Add("processors", Environment.ProcessorCount);
        table.Add("memory", Field("/proc/meminfo", "MemTotal"));
        table.Add("system", Field("/etc/os-release", "PRETTY_NAME").Trim('"'));
        table.Add("kernel", FirstLine("/proc/sys/kernel/osrelease"));
        table.Add("huge pages", FirstLine("/sys/kernel/mm/transparent_hugepage/enabled"));
        table.Add("load before", FirstLine("/proc/loadavg"));
        table.Add(".NET SDK", Said("dotnet", "--version"));
        foreach (var version in versions)
        {
            table.Add(version.Name.LocalName, version.Value);
        }

        table.Add("C++ compiler", Said("c++", "--version"));
        table.Add("C library", Said("ldd", "--version"));
        foreach (var variant in options.Natives.Where(variant => variant.Properties.Length != 0))
        {
            table.Add(variant.Heap, Said("dpkg-query", "-W", "-f", "${Package} ${Version}\n", "lib" + variant.Heap + "2*"));
        }

        return table;
    }

    private static string Field(string file, string name) =>
        File.Exists(file) && File.ReadLines(file).FirstOrDefault(line => line.StartsWith(name, StringComparison.Ordinal)) is { } line ? line[(line.IndexOfAny([':', '=']) + 1)..].Trim() : "unknown";

    private static string FirstLine(string file) => File.Exists(file) ? File.ReadLines(file).FirstOrDefault() ?? "" : "unknown";

    /// <summary>The first line that a program says of itself.</summary>
    private static string Said(string program, params string[] arguments)
    {
        try
        {
            var (exitCode, output) = Command.Run(program, arguments);
            return exitCode == 0 ? output.Split('\n')[0].Trim() : "unknown";
        }
        catch (System.ComponentModel.Win32Exception)
        {
            return "unknown";
        }
    }
}
