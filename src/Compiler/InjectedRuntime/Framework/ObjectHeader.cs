using System.Runtime.Importing;

namespace System.Threading;

[Framework]
internal static class ObjectHeader
{
    internal static extern int GetHashCode(object obj);

    internal static extern Lock GetLockObject(object obj);

    internal static extern bool GetSyncEntryIndex(int header, out int index);
}
