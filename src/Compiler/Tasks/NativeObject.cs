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
/// A file that is saved while the command runs may have been read before or after. So its hash is that of before; if nobody had it then, the file is none of which anything is current.
/// </remarks>
/// <param name="path">The file.</param>
/// <param name="command">The command that makes it.</param>
/// <param name="read">What it reads, as far as that is known before; what it names itself, by <c>-MF</c> or <c>--dependency-file</c>, is read too.</param>
/// <param name="linked">It is the linker that names what was read.</param>
internal sealed class NativeObject(string path, IReadOnlyList<string> command, IReadOnlyList<string> read, bool linked = false)
{
    private const string Changing = "changing";
    private readonly Dictionary<string, string> _before = new(StringComparer.Ordinal);
    private (long Seconds, uint Nanoseconds) _began;

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

    /// <summary>The files that <c>--dependency-file</c> names: one a line. GNU's linkers write names as they are, LLVM's as make reads them. The linker's own temporary files are gone.</summary>
    internal static IEnumerable<string> ReadLinkersRule(IEnumerable<string> lines, string directory)
    {
        foreach (string line in lines.Skip(1).TakeWhile(line => line.StartsWith(' ')))
        {
            string name = line.EndsWith(" \\", StringComparison.Ordinal) ? line[..^2].TrimStart(' ') : line.TrimStart(' ');
            foreach (string one in ReadRule(": " + name).Prepend(name).Where(one => File.Exists(System.IO.Path.GetFullPath(one, directory))).Take(1))
            {
                yield return one;
            }
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
    /// <param name="directory">Where the command runs.</param>
    /// <param name="hashes">Of files.</param>
    public void Begin(string directory, FileHashes hashes)
    {
        Directory.CreateDirectory(System.IO.Path.GetDirectoryName(path)!);
        IEnumerable<string> then = File.Exists(path + ".key") ? File.ReadLines(path + ".key").Skip(1).Select(line => line[(line.IndexOf(' ', StringComparison.Ordinal) + 1)..]) : [];
        foreach (string file in read.Select(file => System.IO.Path.GetFullPath(file, directory)).Concat(then.ToArray()))
        {
            _before[file] = hashes.Of(file);
        }

        File.Delete(path + ".key");
        File.Delete(path + ".d");
        File.WriteAllText(path + ".log", "");
        _began = FileStatus.ChangedAt(path + ".log");
    }

    /// <summary>After the command has made it.</summary>
    /// <param name="compiler">Who made it.</param>
    /// <param name="output">What it said.</param>
    /// <param name="directory">Where the command ran.</param>
    /// <param name="hashes">Of files.</param>
    public void End(string compiler, string output, string directory, FileHashes hashes)
    {
        IEnumerable<string> named = !File.Exists(path + ".d") ? [] : linked ? ReadLinkersRule(File.ReadAllLines(path + ".d"), directory) : ReadRule(File.ReadAllText(path + ".d"));
        IEnumerable<string> all = read.Concat(named).Select(file => System.IO.Path.GetFullPath(file, directory)).Distinct(StringComparer.Ordinal);
        string[] lines = [KeyOf(compiler), .. all.Select(file => $"{HashOf(file, hashes)} {file}")];
        File.WriteAllText(path + ".log", output);
        File.WriteAllLines(path + ".key", lines);
    }

    // Times of changes, which no program sets: one that copies a file with its time, or gives it another name, shows here too.
    private string HashOf(string file, FileHashes hashes) =>
        _before.TryGetValue(file, out string? hash) ? hash : FileStatus.ChangedAt(file).CompareTo(_began) >= 0 ? Changing : hashes.Of(file);

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
