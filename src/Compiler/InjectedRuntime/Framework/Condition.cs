using System.Runtime.Importing;

namespace System.Threading;

[Framework]
internal sealed class Condition
{
    /// <summary>
    /// The threads between their letting go of the lock and their holding it again, pulsed or not: the list of waiters forgets who was pulsed. Changed by who holds the lock.
    /// </summary>
    [Injected]
    internal int _freeholdWaiting;

    public extern void SignalAll();

    /// <summary>Counts this thread, or does so no more.</summary>
    [Injected]
    internal void FreeholdCount(int change) => _freeholdWaiting += change;
}
