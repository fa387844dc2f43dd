namespace Freehold.Testing;

/// <summary>What the build of the test project has written down for the tests (build/Freehold.Testing.targets): a file beside the test assembly, a line <c>name=value</c> each.</summary>
/// <param name="Assembly">The test assembly's name.</param>
/// <param name="Project">The child's project file.</param>
/// <param name="DotNet">The program <c>dotnet</c> that built it.</param>
/// <param name="Folder">Where the test assembly and all that it needs are.</param>
internal sealed record ChildSettings(string Assembly, string Project, string DotNet, string Folder)
{
    internal const string Extension = ".freehold-testing";

    internal static ChildSettings Find()
    {
        string folder = AppContext.BaseDirectory;
        string[] files = Directory.GetFiles(folder, "*" + Extension);
        if (files.Length != 1)
        {
            throw new PublishedTestException(
                $"Freehold.Testing: {(files.Length == 0 ? "no file" : "more than one file")} '*{Extension}' in {folder}. The build of a test project writes it: refer to the package Freehold.Testing there (not only in a library), " +
                "with its build assets, and let the project say IsTestProject=true, as Microsoft.NET.Test.Sdk does, or FreeholdTesting=true.");
        }

        Dictionary<string, string> values = [];
        foreach (string line in File.ReadLines(files[0]))
        {
            int at = line.IndexOf('=', StringComparison.Ordinal);
            if (at > 0)
            {
                values[line[..at]] = line[(at + 1)..];
            }
        }

        return new ChildSettings(Value("assembly"), Value("project"), Value("dotnet"), folder);

        string Value(string name) => values.GetValueOrDefault(name) is { Length: > 0 } value ? value : throw new PublishedTestException($"Freehold.Testing: {files[0]} has no line '{name}='. Build the test project again.");
    }
}
