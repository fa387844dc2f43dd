using System.Diagnostics;

namespace System;

/// <summary>The steps of a deletion that the native heap leaves to managed code, in their order: finalizer, parts (<see cref="OwnedParts"/>), lock.</summary>
internal static class Deletion
{
    /// <summary>Does what an answer of the native heap asks for.</summary>
    /// <returns>The last answer: deleted, or why not.</returns>
    [StackTraceHidden]
    internal static DeleteResult Continue(object obj, DeleteResult result)
    {
        if (result == DeleteResult.NeedsFinalizer)
        {
            result = RunFinalizer(obj);
        }

        return result == DeleteResult.OwnsParts ? OwnedParts.Delete(obj) : ReleaseLock(obj, result);
    }

    /// <summary>The first step, after <see cref="DeleteResult.NeedsFinalizer"/>.</summary>
    [StackTraceHidden]
    internal static DeleteResult RunFinalizer(object obj)
    {
        if (obj is Threading.Thread)
        {
            GC.ReRegisterForFinalize(obj);  // takes the claim back
            return DeleteResult.NotDeletable;
        }

        CallFinalizer(obj);
        return NativeHeap.DeleteFinalized(obj);
    }

    /// <summary>Calls a finalizer that the caller has claimed.</summary>
    [StackTraceHidden]
    internal static unsafe void CallFinalizer(object obj)
    {
#pragma warning disable CS8500 // the address of a reference on the stack, which the runtime keeps current
        RunningFinalizer running = new(&obj);
#pragma warning restore CS8500
        NativeHeap.BeginFinalizer(&running);
        try
        {
            NativeHeap.GetFinalizer(obj)(obj);
        }
        finally
        {
            NativeHeap.EndFinalizer(&running);
        }
    }

    /// <summary>The last step, for an object whose parts, if it has any, were noted.</summary>
    [StackTraceHidden]
    internal static DeleteResult ReleaseLock(object obj, DeleteResult result)
    {
        if (result == DeleteResult.HasSyncEntry)
        {
            PostponedDeletions.Retry();
            do
            {
                result = PostponedDeletions.Release(obj);
            }
            while (result == DeleteResult.HasSyncEntry);  // another thread has made a lock just then
        }

        return End(result);
    }

    /// <summary>What is left to do for an object that is deleted, where a stop of the threads need not wait for it.</summary>
    [StackTraceHidden]
    internal static DeleteResult End(DeleteResult result)
    {
        switch (result)
        {
            case DeleteResult.MayBePinned:
                // The object was pinned some time. Unless it still is, its next use must throw.
                NativeHeap.ReleaseUnpinned();
                return DeleteResult.Deleted;
            case DeleteResult.StopIsWanted:
                // A thread that does nothing but delete is hardly ever in managed code, where it could be stopped.
                NativeHeap.LetStop();
                return DeleteResult.Deleted;
            case DeleteResult.MemoryWaits:
                NativeHeap.EndHuge();
                return DeleteResult.Deleted;
            default:
                return result;
        }
    }

    /// <summary>Throws what <see cref="Heap.Delete"/> says of a last answer.</summary>
    [StackTraceHidden]
    internal static void Check(DeleteResult result)
    {
        switch (result)
        {
            case DeleteResult.Deleted:
            case DeleteResult.Shared:  // whoever asks the framework gets it: a program cannot tell it from a new object, nor own it
                return;
            case DeleteResult.AlreadyDeleted:
                throw new DoubleDeleteException(NativeHeap.TakeHistory());
            case DeleteResult.Dangling:
                throw new DanglingReferenceException(NativeHeap.TakeHistory());
            case DeleteResult.NotDeletable:
                throw new ArgumentException("The object belongs to the runtime (a literal, a frozen object, a Type, a Thread) and cannot be deleted.", "obj");
            default:
                throw new UnreachableException($"The native heap answered {result}.");
        }
    }
}
