using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Security.Cryptography;
using System.Text;

namespace Freehold.Tasks;

/// <summary>A file that a command of the compiler makes, with what the command has read: it is made again when one of these, or the command, has changed.</summary>
/// <remarks>
/// Beside it lie <c>.key</c>, written last, with the hash of the command and those of all files that it read, and <c>.log</c>, what it said. Contents and not times: a checkout changes these.
/// </remarks>
/// <param name="path">The file.</param>
/// <param name="command">The command that makes it.</param>
internal sealed class NativeObject(string path, IReadOnlyList<string> command)
{
    /// <summary>The file.</summary>
    public string Path => path;

    /// <summary>The command that makes it.</summary>
    public IReadOnlyList<string> Command => command;

    /// <summary>What the command said when it was run.</summary>
    public string Log => File.Exists(path + ".log") ? File.ReadAllText(path + ".log") : "";

    /// <summary>Where <c>-MF</c> writes what was read.</summary>
    public static string DependenciesOf(string path) => path + ".d";

    /// <summary>The files that a rule of make names behind its colon.</summary>
    internal static IEnumerable<string> ReadRule(string text)
    {
        int colon = text.IndexOf(": ", StringComparison.Ordinal);
        var name = new StringBuilder();
        for (int i = colon < 0 ? text.Length : colon + 1; i < text.Length; i++)
        {
            char letter = text[i], next = i + 1 < text.Length ? text[i + 1] : '\n';
            if (letter == '\\' && next is ' ' or '#')
            {
                name.Append(next);
                i++;
            }
            else if (letter == '$' && next == '$')
            {
                name.Append('$');
                i++;
            }
            else if (char.IsWhiteSpace(letter) || (letter == '\\' && next is '\n' or '\r'))
            {
                if (name.Length != 0)
                {
                    yield return name.ToString();
                }

                name.Clear();
            }
            else
            {
                name.Append(letter);
            }
        }

        if (name.Length != 0)
        {
            yield return name.ToString();
        }
    }

    /// <summary>The file is there, and what it was made of is still the same.</summary>
    public bool IsCurrent(string compiler, FileHashes hashes)
    {
        if (!File.Exists(path) || !File.Exists(path + ".key"))
        {
            return false;
        }

        string[] lines = File.ReadAllLines(path + ".key");
        return lines.Length > 0 && lines[0] == KeyOf(compiler) && lines.Skip(1).All(line => line.Split(' ', 2) is [string hash, string file] && hashes.Of(file) == hash);
    }

    /// <summary>Before the command runs: what a build that ends here leaves behind is made again.</summary>
    public void Begin()
    {
        Directory.CreateDirectory(System.IO.Path.GetDirectoryName(path)!);
        File.Delete(path + ".key");
        File.Delete(path + ".d");
    }

    /// <summary>After the command has made it.</summary>
    /// <param name="compiler">Who made it.</param>
    /// <param name="output">What it said.</param>
    /// <param name="read">What it read; that of <c>-MF</c> in addition.</param>
    /// <param name="directory">Where the command ran.</param>
    /// <param name="hashes">Of files.</param>
    public void End(string compiler, string output, IEnumerable<string> read, string directory, FileHashes hashes)
    {
        File.WriteAllText(path + ".log", output);
        IEnumerable<string> named = File.Exists(path + ".d") ? ReadRule(File.ReadAllText(path + ".d")) : [];
        IEnumerable<string> all = read.Concat(named).Select(file => System.IO.Path.GetFullPath(file, directory)).Distinct(StringComparer.Ordinal);
        File.WriteAllLines(path + ".key", [KeyOf(compiler), .. all.Select(file => $"{hashes.Of(file)} {file}")]);
    }

    private string KeyOf(string compiler) => Convert.ToHexStringLower(SHA256.HashData(Encoding.UTF8.GetBytes(string.Join('\0', [compiler, .. command]))));

    /// <summary>Hashes of files, each read once for all that were made of it.</summary>
    internal sealed class FileHashes
    {
        private readonly ConcurrentDictionary<string, string> _known = new(StringComparer.Ordinal);

        /// <summary>That of a file; of one that is not there, none that a file has.</summary>
        public string Of(string file) => _known.GetOrAdd(file, name => File.Exists(name) ? NativeCompiler.HashOf(name) : "none");

        /// <summary>The file has been made anew.</summary>
        public void Forget(string file) => _known.TryRemove(file, out _);
    }
}
