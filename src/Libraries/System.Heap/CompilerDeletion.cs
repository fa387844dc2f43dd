using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace System;

/// <summary>The deletions that the rewriter adds to programs: of objects whose type has no finalizer, that nobody else can name. None of them throws.</summary>
/// <remarks>Rewritten assemblies call it by name; nothing compiles against it. It runs on Freehold's heap only.</remarks>
internal static class CompilerDeletion
{
    /// <summary>Deletes an object, and nothing of what it owns; null does nothing.</summary>
    [StackTraceHidden]
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static void Delete(object? obj)
    {
        if (obj is not null)
        {
            DeleteResult result = NativeHeap.Delete(obj);
            if (result != DeleteResult.Deleted)
            {
                DeleteSlowly(obj, result);
            }
        }
    }

    [StackTraceHidden]
    private static void DeleteSlowly(object obj, DeleteResult result) =>
        Deletion.ReleaseLock(obj, result == DeleteResult.OwnsParts ? NativeHeap.DeleteItself(obj) : result);

    /// <summary>Deletes an object and its parts, as <see cref="Heap.Delete"/>.</summary>
    [StackTraceHidden]
    internal static void DeleteWithParts(object? obj)
    {
        if (obj is not null)
        {
            Deletion.Continue(obj, NativeHeap.Delete(obj));
        }
    }

    /// <summary>What a method has returned, which may be an empty array that all share.</summary>
    [StackTraceHidden]
    internal static void DeleteReturned(object? obj)
    {
        if (obj is not Array { Length: 0 })
        {
            Delete(obj);
        }
    }

    /// <summary>The same with its parts.</summary>
    [StackTraceHidden]
    internal static void DeleteReturnedWithParts(object? obj)
    {
        if (obj is not Array { Length: 0 })
        {
            DeleteWithParts(obj);
        }
    }
}
