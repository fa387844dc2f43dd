using System.Reflection;
using System.Text.RegularExpressions;

namespace Freehold.Integration.Tests;

/// <summary>Where things are, and which programs and cases the sources list.</summary>
internal static partial class Repository
{
    public static string Root { get; } =
        typeof(Repository).Assembly.GetCustomAttributes<AssemblyMetadataAttribute>().Single(attribute => attribute.Key == "RepositoryRoot").Value!;

    public static string Output { get; } = Path.Combine(Root, "artifacts", "integration");

    /// <summary>The programs of tests/Differential, from its source: the theories are found before anything is published.</summary>
    public static IReadOnlyList<string> Programs { get; } = ReadCatalog("Differential");

    /// <summary>Those of tests/Ecosystem.</summary>
    public static IReadOnlyList<string> EcosystemPrograms { get; } = ReadCatalog("Ecosystem");

    private static string[] ReadCatalog(string project) =>
        [.. ProgramName().Matches(File.ReadAllText(Path.Combine(Root, "tests", project, "Catalog.cs"))).Select(match => match.Groups[1].Value)];

    [GeneratedRegex(@"nameof\(Programs\.(\w+)\)")]
    private static partial Regex ProgramName();
}
