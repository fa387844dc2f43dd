using System.Diagnostics;

namespace Freehold.Testing;

/// <summary>Locks of files between processes (flock), which end with the process that has them.</summary>
internal static class FileLock
{
    private const int WouldBlock = 11;  // EWOULDBLOCK, which the HResult of the framework's exception is

    private static readonly TimeSpan s_pause = TimeSpan.FromMilliseconds(200);

    /// <summary>Waits until nobody else has it.</summary>
    /// <exception cref="PublishedTestException">Another process has it all the time.</exception>
    internal static IDisposable Take(string path, TimeSpan timeout)
    {
        var clock = Stopwatch.StartNew();
        while (true)
        {
            if (TryOwn(path) is { } taken)
            {
                return taken;
            }

            if (clock.Elapsed > timeout)
            {
                throw new PublishedTestException($"Freehold.Testing: another process has had the lock '{path}' for {timeout.TotalMinutes:0.#} minutes. It publishes the child of the same tests: end it, or wait for it.");
            }

            Thread.Sleep(s_pause);
        }
    }

    /// <summary>For one process alone; null if another one has it.</summary>
    internal static IDisposable? TryOwn(string path) => TryOpen(path, FileAccess.ReadWrite, FileShare.None);

    /// <summary>For all that share it; null if a process has it alone.</summary>
    internal static IDisposable? TryShare(string path) => TryOpen(path, FileAccess.Read, FileShare.Read);

    private static FileStream? TryOpen(string path, FileAccess access, FileShare share)
    {
        try
        {
            return new FileStream(path, FileMode.OpenOrCreate, access, share);
        }
        catch (IOException exception) when (exception.HResult == WouldBlock)
        {
            return null;
        }
    }
}
