namespace Freehold.Testing;

/// <summary>What lies beside the test assembly (data, settings, native libraries) lies beside the child, too: links, so that the child reads what is there now.</summary>
internal static class ChildFiles
{
    /// <summary>Puts links to what is in a folder into another one, but for names that are there.</summary>
    internal static void Link(string from, string to)
    {
        foreach (string old in Directory.GetFileSystemEntries(to).Where(IsDangling))
        {
            File.Delete(old);
        }

        // Native libraries of packages are in folders of platforms, and are looked for beside the executable.
        string native = Path.Combine(from, "runtimes", "linux-x64", "native");
        foreach (string entry in Directory.GetFileSystemEntries(from).Concat(Directory.Exists(native) ? Directory.GetFileSystemEntries(native) : []))
        {
            string link = Path.Combine(to, Path.GetFileName(entry));
            if (!Path.Exists(link))
            {
                Make(link, entry);
            }
        }
    }

    private static void Make(string link, string entry)
    {
        try
        {
            File.CreateSymbolicLink(link, entry);
        }
        catch (IOException) when (Path.Exists(link))
        {
            // Another run of the tests has made it just now.
        }
    }

    private static bool IsDangling(string path) => new FileInfo(path) is { LinkTarget: not null } link && link.ResolveLinkTarget(returnFinalTarget: true) is { Exists: false };
}
