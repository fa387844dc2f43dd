using System;
using System.Collections.Generic;
using System.IO;
using System.Text;

namespace Freehold.Tasks;

/// <summary>
/// toolchain.txt in a finished toolchain: one line for each file, "length time name", so that a warm publish can see in a millisecond that nothing was lost or changed.
/// </summary>
internal static class ToolchainStamp
{
    private const string FileName = "toolchain.txt";

    /// <summary>Writes the stamp of <paramref name="directory"/>; the last step before it is published.</summary>
    public static void Write(string directory) => File.WriteAllText(Path.Combine(directory, FileName), Describe(directory));

    /// <summary>Whether the toolchain at <paramref name="directory"/> is there and is as it was made.</summary>
    public static bool IsIntact(string directory)
    {
        string path = Path.Combine(directory, FileName);
        return File.Exists(path) && File.ReadAllText(path) == Describe(directory);
    }

    private static string Describe(string directory)
    {
        var lines = new List<string>();
        foreach (FileInfo file in new DirectoryInfo(directory).EnumerateFiles("*", SearchOption.AllDirectories))
        {
            string name = Path.GetRelativePath(directory, file.FullName);
            if (name != FileName)
            {
                lines.Add($"{name} {file.Length} {file.LastWriteTimeUtc.Ticks}");
            }
        }

        lines.Sort(StringComparer.Ordinal);
        return new StringBuilder().AppendJoin('\n', lines).Append('\n').ToString();
    }
}
