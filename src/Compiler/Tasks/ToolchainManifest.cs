using System;
using System.Collections.Generic;
using System.IO;
using System.Security.Cryptography;
using System.Text.Json;

namespace Freehold.Tasks;

/// <summary>
/// runtime-patches/&lt;version&gt;/manifest.json: in which folders of which official packages tools, sdk and framework lie in this version, the sha256 of every file that Freehold
/// builds on, and what it changes in which of them. Files are named by these three folders, wherever a version keeps them.
/// </summary>
internal sealed class ToolchainManifest
{
    private readonly string _path;
    private readonly Dictionary<string, string> _hashes = new(StringComparer.Ordinal);
    private readonly Dictionary<string, string[]> _removedMembers = new(StringComparer.Ordinal);
    private readonly HashSet<string> _omitted = new(StringComparer.Ordinal);
    private readonly Dictionary<string, string> _folders = new(StringComparer.Ordinal);

    private ToolchainManifest(string path) => _path = path;

    /// <summary>Reads the manifest at <paramref name="path"/>.</summary>
    /// <param name="path">The manifest.</param>
    /// <param name="compilerPackage">Folder of the package with ilc.</param>
    /// <param name="runtimePackage">Folder of the package with the runtime; in some versions the same.</param>
    public static ToolchainManifest Read(string path, string compilerPackage, string runtimePackage)
    {
        var manifest = new ToolchainManifest(path);
        using JsonDocument document = JsonDocument.Parse(File.ReadAllBytes(path));
        foreach (JsonProperty folder in document.RootElement.GetProperty("folders").EnumerateObject())
        {
            string[] place = folder.Value.GetString()!.Split('/', 2);
            string package = place[0] switch
            {
                "compiler" => compilerPackage,
                "runtime" => runtimePackage,
                _ => throw new InvalidDataException($"{path}: '{place[0]}' is no package."),
            };
            manifest._folders.Add(folder.Name, Path.Combine(package, place[1]));
        }

        foreach (JsonProperty file in document.RootElement.GetProperty("inputs").EnumerateObject())
        {
            manifest._hashes.Add(file.Name, file.Value.GetString()!);
        }

        foreach (JsonProperty change in document.RootElement.GetProperty("changes").EnumerateObject())
        {
            if (change.Value.TryGetProperty("removeMembers", out JsonElement members))
            {
                var names = new List<string>();
                foreach (JsonElement member in members.EnumerateArray())
                {
                    names.Add(member.GetString()!);
                }

                manifest._removedMembers.Add(change.Name, [.. names]);
            }

            if (change.Value.TryGetProperty("omit", out JsonElement omit) && omit.GetBoolean())
            {
                manifest._omitted.Add(change.Name);
            }
        }

        return manifest;
    }

    /// <summary>The official folder of that name: tools, sdk (archives and System.Private.*) or framework.</summary>
    public string Folder(string name) => _folders[name];

    /// <summary>The files that the toolchain must not hold, so that nothing can link them.</summary>
    public bool IsOmitted(string name) => _omitted.Contains(name);

    /// <summary>The members to take out of an archive, or null when it stays as it is.</summary>
    public string[]? RemovedMembers(string name) => _removedMembers.GetValueOrDefault(name);

    /// <summary>Compares every input with its hash. Files that the manifest does not know are refused too: ilc would read them.</summary>
    /// <exception cref="FreeholdException">FH0008 names the first file that differs.</exception>
    public void Verify()
    {
        foreach ((string name, string expected) in _hashes)
        {
            string path = PathOf(name);
            if (!File.Exists(path))
            {
                throw Mismatch(path, "is missing");
            }

            using FileStream stream = File.OpenRead(path);
            string actual = Convert.ToHexStringLower(SHA256.HashData(stream));
            if (actual != expected)
            {
                throw Mismatch(path, $"has sha256 {actual} instead of {expected}");
            }
        }

        foreach (string folder in new[] { "sdk", "framework" })
        {
            foreach (string path in Directory.EnumerateFiles(Folder(folder), "*.dll"))
            {
                if (!_hashes.ContainsKey(folder + "/" + Path.GetFileName(path)))
                {
                    throw Mismatch(path, "is not a file of the official package");
                }
            }
        }
    }

    private string PathOf(string name)
    {
        string[] place = name.Split('/', 2);
        return Path.Combine(Folder(place[0]), place[1]);
    }

    private FreeholdException Mismatch(string path, string what) => new(
        "FH0008",
        $"A package of ILCompiler is not the official one that Freehold was made for: '{path}' {what} ({_path}). Delete the package's folder and restore again.");
}
