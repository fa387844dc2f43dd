using System.Security.Cryptography;
using System.Text;

namespace Freehold.Testing;

/// <summary>
/// The child's executable: published by the first test that needs it, into a folder whose name is a hash of what it was made of, and which never changes. So a run of tests keeps its child while another one, behind a
/// change, publishes the next.
/// </summary>
internal static class PublishedChild
{
    private const int MostKept = 3;

    private static readonly Lock s_lock = new();
    private static readonly Dictionary<(string Folder, string Text, string Work), (string? Executable, string Error)> s_published = [];
    private static readonly List<IDisposable> s_used = [];

    /// <summary>The path of the executable.</summary>
    /// <exception cref="PublishedTestException">The publish failed; it is not tried again by this process.</exception>
    internal static string Get(ChildSettings settings)
    {
        lock (s_lock)
        {
            (string Folder, string Text, string Work) key = (settings.Folder, settings.Text, settings.Work);
            if (!s_published.TryGetValue(key, out (string? Executable, string Error) published))
            {
                try
                {
                    published = (Find(settings), "");
                }
                catch (PublishedTestException failure)
                {
                    published = (null, failure.Message);
                }

                s_published[key] = published;
            }

            string executable = published.Executable ?? throw new PublishedTestException(published.Error);
            // Each time: tests write files, too.
            ChildFiles.Link(settings.Folder, Path.GetDirectoryName(executable)!);
            return executable;
        }
    }

    private static string Find(ChildSettings settings)
    {
        try
        {
            string children = Path.Combine(settings.Work, "publish");
            Directory.CreateDirectory(children);
            // Another run of the same tests may be publishing.
            using IDisposable locked = FileLock.Take(Path.Combine(settings.Work, "publish.lock"), DotNetPublish.Timeout);
            string content = ContentOf(settings), folder = Path.Combine(children, content), executable = Path.Combine(folder, ChildProject.Name);
            if (!File.Exists(executable))
            {
                Publish(settings, folder);
            }

            // Held to the end of this process: nobody deletes what it uses.
            s_used.Add(FileLock.TryShare(folder + ".lock") ?? throw new IOException($"'{folder}.lock' is locked by another process."));
            File.SetLastWriteTimeUtc(folder + ".lock", DateTime.UtcNow);
            DeleteOld(children);
            return executable;
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            throw new PublishedTestException($"Freehold.Testing: the child cannot be made in {settings.Work}: {exception.Message}");
        }
    }

    private static void Publish(ChildSettings settings, string folder)
    {
        // A process that a killed run of tests has left may still write into its folder.
        string works = Path.Combine(settings.Work, "work"), work = Path.Combine(works, Environment.ProcessId + "-" + Guid.NewGuid().ToString("N")[..8]);
        Delete(works);
        string project = ChildProject.Write(settings, work), output = Path.Combine(work, "publish"), executable = Path.Combine(output, ChildProject.Name);
        (int exitCode, string said) = DotNetPublish.Run(settings.DotNet, project, output);
        if (exitCode != 0 || !File.Exists(executable))
        {
            throw new PublishedTestException($"Freehold.Testing: the test project could not be published as a child (exit code {exitCode} of '{settings.DotNet} publish {project}'):\n{DotNetPublish.Errors(said)}");
        }

        Delete(folder);
        Directory.Move(output, folder);
        Delete(works);
    }

    // Those that no run of tests uses, but for the last ones. Under the lock of the folder, which each run has when it takes one of them.
    private static void DeleteOld(string children)
    {
        foreach (string file in Directory.GetFiles(children, "*.lock").OrderByDescending(File.GetLastWriteTimeUtc).Skip(MostKept))
        {
            using IDisposable? locked = FileLock.TryOwn(file);
            if (locked is not null)
            {
                Delete(file[..^".lock".Length]);
                File.Delete(file);
            }
        }
    }

    private static void Delete(string folder)
    {
        try
        {
            Directory.Delete(folder, recursive: true);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            // There is none, or somebody writes there: it is deleted another time.
        }
    }

    // A hash, not times: a build that changes nothing writes the same assemblies again. The project has the frameworks, the folder and the version of this package.
    private static string ContentOf(ChildSettings settings)
    {
        using var hash = IncrementalHash.CreateHash(HashAlgorithmName.SHA256);
        hash.AppendData(Encoding.UTF8.GetBytes(settings.Text));
        hash.AppendData(Encoding.UTF8.GetBytes(ChildProject.Text(settings)));
        // Of its folders those that have translations.
        foreach (string folder in (string[])[settings.Folder, .. Directory.GetDirectories(settings.Folder).Order(StringComparer.Ordinal)])
        {
            foreach (string file in Directory.GetFiles(folder, folder == settings.Folder ? "*.dll" : "*.resources.dll").Order(StringComparer.Ordinal))
            {
                hash.AppendData(Encoding.UTF8.GetBytes(Path.GetRelativePath(settings.Folder, file)));
                hash.AppendData(SHA256.HashData(File.ReadAllBytes(file)));
            }
        }

        return Convert.ToHexString(hash.GetHashAndReset())[..32];
    }
}
