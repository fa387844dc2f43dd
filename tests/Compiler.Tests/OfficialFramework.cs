using System.IO;
using System.Text.Json;

namespace Freehold.Compiler.Tests;

/// <summary>The official framework of a version, as NuGet's cache and the version's manifest have it.</summary>
public sealed class OfficialFramework
{
    /// <summary>Finds the folders of the version.</summary>
    public OfficialFramework(string version)
    {
        Version = version;
        string patches = Path.Combine(Golden.Metadata("RuntimePatches"), version);
        Names = Path.Combine(patches, "framework.json");
        using JsonDocument manifest = JsonDocument.Parse(File.ReadAllText(Path.Combine(patches, "manifest.json")));
        Sdk = Folder(manifest.RootElement, "sdk");
        Assemblies = Folder(manifest.RootElement, "framework");
    }

    /// <summary>The versions that are supported, the main one first.</summary>
    public static string[] Versions => Golden.Metadata("RuntimeVersions").Split(';');

    /// <summary>That of the main version.</summary>
    public static OfficialFramework Main { get; } = new(Versions[0]);

    /// <summary>Of ILCompiler.</summary>
    public string Version { get; }

    /// <summary>Folder of System.Private.*.dll.</summary>
    public string Sdk { get; }

    /// <summary>Folder of the framework's other assemblies.</summary>
    public string Assemblies { get; }

    /// <summary>The version's framework.json.</summary>
    public string Names { get; }

    // As the manifest names it: a folder in one of the packages.
    private string Folder(JsonElement manifest, string name)
    {
        string[] place = manifest.GetProperty("folders").GetProperty(name).GetString()!.Split('/', 2);
        string package = manifest.GetProperty("packages").GetProperty(place[0]).GetString()!;
        return Path.Combine(Golden.Metadata("Packages"), package.ToLowerInvariant(), Version, place[1]);
    }
}
