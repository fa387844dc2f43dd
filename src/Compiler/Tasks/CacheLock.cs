using System;
using System.IO;
using System.Threading;

namespace Freehold.Tasks;

/// <summary>One build at a time makes a toolchain. The kernel drops the lock when its owner is killed.</summary>
internal sealed class CacheLock : IDisposable
{
    // EWOULDBLOCK on Linux, which .NET gives as the HResult of the exception for a file that another process has locked. Any other error is one that waiting does not mend.
    private const int WouldBlock = 11;

    private readonly FileStream _file;

    private CacheLock(FileStream file) => _file = file;

    /// <summary>Waits until the lock is free.</summary>
    /// <param name="path">The lock's file; it is made when absent, and stays.</param>
    /// <param name="waiting">Called once if another build holds the lock.</param>
    /// <exception cref="IOException">The lock cannot be made: a read-only file system, say.</exception>
    /// <exception cref="UnauthorizedAccessException">The folder cannot be written to.</exception>
    /// <param name="cancellation">Ends the waiting with an <see cref="FreeholdException"/>.</param>
    public static CacheLock Take(string path, Action waiting, CancellationToken cancellation)
    {
        for (bool said = false; ; said = true)
        {
            try
            {
                return new CacheLock(new FileStream(path, FileMode.OpenOrCreate, FileAccess.ReadWrite, FileShare.None));
            }
            catch (IOException exception) when (exception.HResult == WouldBlock)
            {
                if (!said)
                {
                    waiting();
                }
            }

            if (cancellation.WaitHandle.WaitOne(TimeSpan.FromMilliseconds(100)))
            {
                throw new FreeholdException("FH0011", "The preparation of the toolchain was cancelled. Publish again.");
            }
        }
    }

    /// <inheritdoc />
    public void Dispose() => _file.Dispose();
}
