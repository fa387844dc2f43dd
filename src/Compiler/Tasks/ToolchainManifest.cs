using System;
using System.Collections.Generic;
using System.IO;
using System.Security.Cryptography;
using System.Text.Json;

namespace Freehold.Tasks;

/// <summary>
/// runtime-patches/&lt;version&gt;/manifest.json: the sha256 of every file of the official packages that Freehold builds on, and what it changes in which of them.
/// </summary>
internal sealed class ToolchainManifest
{
    private readonly string _path;
    private readonly Dictionary<string, string> _hashes = new(StringComparer.Ordinal);
    private readonly Dictionary<string, string[]> _removedMembers = new(StringComparer.Ordinal);
    private readonly HashSet<string> _omitted = new(StringComparer.Ordinal);

    private ToolchainManifest(string path) => _path = path;

    /// <summary>Reads the manifest at <paramref name="path"/>.</summary>
    public static ToolchainManifest Read(string path)
    {
        var manifest = new ToolchainManifest(path);
        using JsonDocument document = JsonDocument.Parse(File.ReadAllBytes(path));
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

    /// <summary>The files that the toolchain must not hold, so that nothing can link them.</summary>
    public bool IsOmitted(string name) => _omitted.Contains(name);

    /// <summary>The members to take out of an archive, or null when it stays as it is.</summary>
    public string[]? RemovedMembers(string name) => _removedMembers.GetValueOrDefault(name);

    /// <summary>Compares every input with its hash. Files that the manifest does not know are refused too: ilc would read them.</summary>
    /// <param name="package">Folder of the runtime package.</param>
    /// <exception cref="FreeholdException">FH0008 names the first file that differs.</exception>
    public void Verify(string package)
    {
        foreach ((string name, string expected) in _hashes)
        {
            string path = Path.Combine(package, name);
            if (!File.Exists(path))
            {
                throw Mismatch(package, $"'{name}' is missing");
            }

            using FileStream stream = File.OpenRead(path);
            string actual = Convert.ToHexStringLower(SHA256.HashData(stream));
            if (actual != expected)
            {
                throw Mismatch(package, $"'{name}' has sha256 {actual} instead of {expected}");
            }
        }

        foreach (string folder in new[] { "sdk", "framework" })
        {
            foreach (string path in Directory.EnumerateFiles(Path.Combine(package, folder), "*.dll"))
            {
                string name = folder + "/" + Path.GetFileName(path);
                if (!_hashes.ContainsKey(name))
                {
                    throw Mismatch(package, $"'{name}' is not a file of the official package");
                }
            }
        }
    }

    private FreeholdException Mismatch(string package, string what) => new(
        "FH0008",
        $"The ILCompiler package at '{package}' is not the official one that Freehold was made for: {what} ({_path}). Delete that folder and restore again.");
}
