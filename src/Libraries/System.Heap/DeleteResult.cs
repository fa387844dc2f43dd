namespace System;

/// <summary>What the native heap answers to a deletion; the numbers are those of <c>heap/heap.h</c>.</summary>
internal enum DeleteResult
{
    Deleted = 0,
    NeedsFinalizer = 1,
    AlreadyDeleted = 2,
    NotDeletable = 3,
    Dangling = 4,
    HasSyncEntry = 5,
    MayBePinned = 6,
    OwnsParts = 7,
    StopIsWanted = 8,
    Shared = 9,
    MemoryWaits = 10,
}
