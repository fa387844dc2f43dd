using System.Text.Json;

namespace Freehold.Testing;

/// <summary>What the build of the test project has written down for the tests (build/Freehold.Testing.targets): a file beside the test assembly, a line <c>name=value</c> each.</summary>
/// <param name="Assembly">The test assembly's name.</param>
/// <param name="Folder">Where the test assembly and all that it needs are.</param>
/// <param name="Work">Where the child is made: a folder of the test project's intermediate files.</param>
/// <param name="DotNet">The program <c>dotnet</c> that built it.</param>
/// <param name="Text">The whole file.</param>
internal sealed record ChildSettings(string Assembly, string Folder, string Work, string DotNet, string Text)
{
    internal const string Extension = ".freehold-testing";

    private readonly Dictionary<string, string> _values = ToValues(Text);

    internal static ChildSettings Find(string assembly, string test) => Find(assembly, test, AppContext.BaseDirectory);

    /// <summary>The settings of a test assembly. There are others in the folder if a test project refers to another one.</summary>
    /// <exception cref="PublishedTestException">There is no file, or not all is in it.</exception>
    internal static ChildSettings Find(string assembly, string test, string folder)
    {
        string file = Path.Combine(folder, assembly + Extension);
        if (!File.Exists(file))
        {
            string[] others = [.. Directory.GetFiles(folder, "*" + Extension).Select(other => Path.GetFileNameWithoutExtension(other)!)];
            throw new PublishedTestException(
                others.Length != 0
                ? $"Freehold.Testing: {test} cannot run in the published child: the child has the methods of {string.Join(", ", others)} only, and this one is in {assembly}. Call it from a lambda in the test."
                : $"Freehold.Testing: no file '{assembly}{Extension}' in {folder}. The build of a test project writes it: refer to the package Freehold.Testing there (not only in a library), " +
                  "with its build assets, and let the project say IsTestProject=true, as Microsoft.NET.Test.Sdk does, or FreeholdTesting=true.");
        }

        string text = File.ReadAllText(file);
        var settings = new ChildSettings(assembly, folder, "", "", text);
        return settings with { Work = settings.Required("work"), DotNet = settings.Required("dotnet") };
    }

    /// <summary>A value that must be there.</summary>
    internal string Required(string name)
        => Value(name) is { Length: > 0 } value ? value : throw new PublishedTestException($"Freehold.Testing: {Path.Combine(Folder, Assembly + Extension)} has no line '{name}='. Build the test project again.");

    /// <summary>A value; empty if it is not there.</summary>
    internal string Value(string name) => _values.GetValueOrDefault(name, "");

    /// <summary>The frameworks that the test assembly runs on, such as Microsoft.AspNetCore.App.</summary>
    internal IEnumerable<string> Frameworks()
    {
        string file = Path.Combine(Folder, Assembly + ".runtimeconfig.json");
        if (!File.Exists(file))
        {
            return [];
        }

        using var document = JsonDocument.Parse(File.ReadAllBytes(file));
        JsonElement options = document.RootElement.GetProperty("runtimeOptions");
        if (options.TryGetProperty("framework", out JsonElement one) || options.TryGetProperty("includedFrameworks", out one))
        {
            return one.ValueKind == JsonValueKind.Array ? Names(one) : [one.GetProperty("name").GetString()!];
        }

        return options.TryGetProperty("frameworks", out JsonElement several) ? Names(several) : [];

        static string[] Names(JsonElement list) => [.. list.EnumerateArray().Select(framework => framework.GetProperty("name").GetString()!)];
    }

    private static Dictionary<string, string> ToValues(string text)
    {
        Dictionary<string, string> values = [];
        foreach (string line in text.Split('\n', StringSplitOptions.TrimEntries))
        {
            int at = line.IndexOf('=', StringComparison.Ordinal);
            if (at > 0)
            {
                values[line[..at]] = line[(at + 1)..];
            }
        }

        return values;
    }
}
