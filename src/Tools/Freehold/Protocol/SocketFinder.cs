using System.Globalization;

namespace Freehold.Tool.Protocol;

/// <summary>Finds the socket of a process by what the kernel says of its descriptors: wherever the process has put it, in another container too.</summary>
internal static class SocketFinder
{
    private const string Ending = ".sock";
    private const string Folder = "freehold";

    // __SO_ACCEPTCON: somebody listens. Connections have the path of their listener too.
    private const long Listens = 0x10000;

    /// <summary>A path that this process can connect to.</summary>
    /// <param name="process">Its number.</param>
    /// <param name="processes">/proc, or what a test has in its place.</param>
    /// <exception cref="ToolException">There is no such process, no socket, or no permission.</exception>
    public static string Find(int process, string processes = "/proc")
    {
        string folder = Path.Combine(processes, process.ToString(CultureInfo.InvariantCulture));
        if (!Directory.Exists(folder))
        {
            throw new ToolException($"there is no process {process}.");
        }

        HashSet<string> own = ReadSockets(process, Path.Combine(folder, "fd"));
        foreach (string line in ReadLines(process, Path.Combine(folder, "net", "unix")))
        {
            // Num, RefCount, Protocol, Flags, Type, St, Inode, Path.
            string[] words = line.Split(' ', 8, StringSplitOptions.RemoveEmptyEntries);
            if (words.Length == 8 && own.Contains(words[6]) && IsDiagnostic(words[7]) && long.TryParse(words[3], NumberStyles.HexNumber, CultureInfo.InvariantCulture, out long flags) && (flags & Listens) != 0)
            {
                return SeenFromHere(folder, Path.Combine(processes, "self"), words[7]);
            }
        }

        throw new ToolException($"process {process} has no diagnostics socket. Start a program that was published with Freehold with FREEHOLD_DIAGNOSTICS=1, or publish it with FreeholdDiagnostics=true. A child of a fork has none.");
    }

    private static bool IsDiagnostic(string path) =>
        path.EndsWith(Ending, StringComparison.Ordinal) && Path.GetFileName(Path.GetDirectoryName(path)) is { } folder && (folder == Folder || folder.StartsWith(Folder + "-", StringComparison.Ordinal));

    // The process may be in a container with other folders.
    private static string SeenFromHere(string folder, string self, string path) =>
        LinkOf(Path.Combine(folder, "ns", "mnt")) is { } theirs && LinkOf(Path.Combine(self, "ns", "mnt")) is { } own && theirs != own ? folder + "/root" + path : path;

    private static HashSet<string> ReadSockets(int process, string folder)
    {
        try
        {
            var sockets = new HashSet<string>();
            foreach (string descriptor in Directory.GetFiles(folder))
            {
                if (LinkOf(descriptor) is { } target && target.StartsWith("socket:[", StringComparison.Ordinal) && target.EndsWith(']'))
                {
                    sockets.Add(target[8..^1]);
                }
            }

            return sockets;
        }
        catch (UnauthorizedAccessException)
        {
            throw new ToolException($"process {process} belongs to another user. Ask as that user, or as root.");
        }
        catch (IOException)
        {
            throw new ToolException($"process {process} has just ended.");
        }
    }

    private static string[] ReadLines(int process, string path)
    {
        try
        {
            return File.ReadAllLines(path);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            throw new ToolException($"the sockets of process {process} cannot be read: {exception.Message}");
        }
    }

    // Null: it is gone, or no link.
    private static string? LinkOf(string path)
    {
        try
        {
            return new FileInfo(path).LinkTarget;
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return null;
        }
    }
}
