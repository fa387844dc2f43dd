using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Security.Cryptography;

namespace Freehold.Tasks;

/// <summary>
/// toolchain.txt in a finished toolchain: one line for each file, "length time sha256 name", in the order of the names, so that a warm publish can see in a millisecond that
/// nothing was lost or changed. A copy of the toolchain has other times (tar and the layers of containers keep whole seconds): then the contents decide.
/// </summary>
internal static class ToolchainStamp
{
    private const string FileName = "toolchain.txt";

    /// <summary>How a toolchain compares with its stamp.</summary>
    internal enum State
    {
        /// <summary>As it was made.</summary>
        Intact,

        /// <summary>The contents are as they were made, the times are not: a copy.</summary>
        Copied,

        /// <summary>It is not there, or something in it is missing or changed.</summary>
        Damaged,
    }

    /// <summary>Writes the stamp of <paramref name="directory"/>; the last step before it is published.</summary>
    public static void Write(string directory)
    {
        // By a rename: a reader sees the old one or the new one.
        string temporary = Path.Combine(directory, $".{FileName}.{Guid.NewGuid():N}");
        try
        {
            File.WriteAllLines(temporary, Files(directory).Select(file => $"{file.Length} {file.LastWriteTimeUtc.Ticks} {HashOf(file.FullName)} {NameOf(directory, file)}"));
            File.Move(temporary, Path.Combine(directory, FileName), overwrite: true);
        }
        finally
        {
            File.Delete(temporary);
        }
    }

    /// <summary>Compares the toolchain at <paramref name="directory"/> with its stamp.</summary>
    /// <param name="directory">The toolchain.</param>
    /// <param name="difference">What differs, for a message; empty when it is intact.</param>
    public static State Compare(string directory, out string difference)
    {
        string path = Path.Combine(directory, FileName);
        difference = "";
        if (!File.Exists(path))
        {
            difference = $"there is no '{path}'";
            return State.Damaged;
        }

        State state = State.Intact;
        Dictionary<string, FileInfo> files = Files(directory).ToDictionary(file => NameOf(directory, file), StringComparer.Ordinal);
        foreach (string line in File.ReadLines(path))
        {
            string[] parts = line.Split(' ', 4);
            if (parts.Length != 4 || !files.Remove(parts[3], out FileInfo? file))
            {
                difference = parts.Length == 4 ? $"'{parts[3]}' is missing" : $"'{FileName}' is damaged";
                return State.Damaged;
            }

            if (parts[1] != file.LastWriteTimeUtc.Ticks.ToString())
            {
                state = State.Copied;
                difference = $"'{parts[3]}' has another time";
            }

            if (parts[0] != file.Length.ToString() || (parts[1] != file.LastWriteTimeUtc.Ticks.ToString() && parts[2] != HashOf(file.FullName)))
            {
                difference = $"'{parts[3]}' has changed";
                return State.Damaged;
            }
        }

        if (files.Count != 0)
        {
            difference = $"'{files.Keys.Order(StringComparer.Ordinal).First()}' does not belong to it";
            return State.Damaged;
        }

        return state;
    }

    private static IEnumerable<FileInfo> Files(string directory) => new DirectoryInfo(directory).EnumerateFiles("*", SearchOption.AllDirectories)
        .Where(file => !NameOf(directory, file).Contains(FileName, StringComparison.Ordinal))
        .OrderBy(file => NameOf(directory, file), StringComparer.Ordinal);

    private static string NameOf(string directory, FileInfo file) => Path.GetRelativePath(directory, file.FullName);

    private static string HashOf(string path)
    {
        using FileStream stream = File.OpenRead(path);
        return Convert.ToHexStringLower(SHA256.HashData(stream));
    }
}
