using System.Text.Json;

namespace Freehold.Tool.Doctor;

/// <summary>Whether a project would be published with Freehold.</summary>
internal static class ProjectChecks
{
    public static IEnumerable<Finding> Run(IMachine machine, string? project)
    {
        if (project is null)
        {
            IReadOnlyList<string> here = machine.Projects(machine.CurrentDirectory);
            if (here.Count != 1)
            {
                return [];
            }

            project = here[0];
        }

        string subject = Path.GetFileName(project);
        if (machine.Run("dotnet", "msbuild", project, "-nologo", "-getProperty:PublishAot", "-getProperty:OutputType", "-getProperty:TargetFramework", "-getItem:PackageReference") is not { } text)
        {
            return [Finding.Warning(subject, "MSBuild cannot read the project.", $"See what 'dotnet msbuild {project}' says.")];
        }

        try
        {
            using JsonDocument read = JsonDocument.Parse(text);
            return [.. Judge(subject, read.RootElement.GetProperty("Properties"), read.RootElement.GetProperty("Items").GetProperty("PackageReference"))];
        }
        catch (Exception exception) when (exception is JsonException or KeyNotFoundException or InvalidOperationException)
        {
            return [Finding.Warning(subject, "what MSBuild says of the project cannot be understood.", $"See what 'dotnet msbuild {project} -getProperty:PublishAot' says.")];
        }
    }

    private static IEnumerable<Finding> Judge(string subject, JsonElement properties, JsonElement packages)
    {
        string Property(string name) => properties.TryGetProperty(name, out JsonElement value) ? value.GetString() ?? "" : "";
        string[] frameworks = [.. BuildChecks.RuntimeVersions.Select(version => $"net{version.Split('.')[0]}.0")];
        bool refers = packages.EnumerateArray().Any(package => string.Equals(package.GetProperty("Identity").GetString(), "Freehold", StringComparison.OrdinalIgnoreCase));
        if (!refers)
        {
            yield return Finding.Note(subject, "it does not refer to the package Freehold; 'dotnet add package Freehold' makes it.");
            yield break;
        }

        bool good = true;
        if (Property("OutputType") is "Exe" && !string.Equals(Property("PublishAot"), "true", StringComparison.OrdinalIgnoreCase))
        {
            good = false;
            yield return Finding.Problem(subject, "it refers to Freehold, but is not published with NativeAOT, so a publish is refused (FH0006).", "Set <PublishAot>true</PublishAot> in the project.");
        }

        if (Property("TargetFramework") is { Length: > 0 } framework && Array.IndexOf(frameworks, framework) < 0)
        {
            good = false;
            yield return Finding.Problem(subject, $"it targets {framework}, and Freehold supports {string.Join(" and ", frameworks)} (FH0002).", "Set <TargetFramework> to one of them.");
        }

        if (good)
        {
            yield return Finding.Good(subject, "it is published with Freehold");
        }
    }
}
