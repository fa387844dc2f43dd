using System.Runtime.InteropServices;

namespace Freehold.Contract;

/// <summary>A thread that makes a system call which does not return yet.</summary>
internal sealed partial class WaitingThread
{
    private readonly Thread _thread;
    private int _id;

    /// <summary>Starts it, and waits until it is in the call, or has ended.</summary>
    /// <param name="call">What it does.</param>
    /// <param name="number">Number of the system call, on x64.</param>
    public WaitingThread(Action call, int number)
    {
        _thread = new Thread(() =>
        {
            Volatile.Write(ref _id, gettid());
            call();
        });
        _thread.Start();
        Expect.Eventually(() => !_thread.IsAlive || (Volatile.Read(ref _id) != 0 && IsIn(number)));
    }

    /// <summary>Waits for its end.</summary>
    public void Join() => _thread.Join();

    // proc(5): the number of the call in which the thread is blocked, then its arguments; or "running".
    private bool IsIn(int number)
    {
        try
        {
            return File.ReadAllText($"/proc/self/task/{_id}/syscall").StartsWith($"{number} ", StringComparison.Ordinal);
        }
        catch (IOException)
        {
            return false; // it has just ended
        }
    }

    [LibraryImport("libc")]
    private static partial int gettid();
}
