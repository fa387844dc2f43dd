using System.Collections.Generic;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Threading;

namespace System;

/// <summary>
/// <see cref="Heap"/> on a garbage collector (<c>dotnet run</c>, <c>dotnet test</c>, a stock publish): the same checks, and memory stays with the collector.
/// </summary>
internal static class CollectedHeap
{
    // Weak keys: a deleted object that nothing refers to any more leaves the table by itself.
    private static readonly ConditionalWeakTable<object, object> s_deleted = new();
    private static readonly object s_mark = new();

    // Objects whose finalizers deletions of this thread run at the moment: what these delete of them is not a second deletion.
    [ThreadStatic]
    private static List<object>? t_finalizing;

    private static long s_deletedObjects;
    private static long s_doubleDeletes;

    internal static void Delete(object? obj)
    {
        if (obj is null)
        {
            return;
        }

        if (obj is Type or Thread || (obj is string text && ReferenceEquals(string.IsInterned(text), text)))
        {
            throw new ArgumentException("The object belongs to the runtime (a literal, a Type, a Thread) and cannot be deleted.", nameof(obj));
        }

        if (t_finalizing?.Exists(other => ReferenceEquals(other, obj)) == true)
        {
            return;
        }

        if (!s_deleted.TryAdd(obj, s_mark))
        {
            Interlocked.Increment(ref s_doubleDeletes);
            throw new DoubleDeleteException();
        }

        try
        {
            RunFinalizer(obj);
        }
        catch
        {
            s_deleted.Remove(obj);  // it stays undeleted; the collector will not run the finalizer again, and neither does a second deletion
            throw;
        }

        Interlocked.Increment(ref s_deletedObjects);
    }

    internal static void DeleteAll(System.Collections.IEnumerable collection)
    {
        var elements = new HashSet<object>(ReferenceEqualityComparer.Instance);
        if (collection is System.Collections.IDictionary dictionary)
        {
            Add(dictionary.Keys);
            Add(dictionary.Values);
        }
        else
        {
            Add(collection);
        }

        Delete(collection);
        System.Runtime.ExceptionServices.ExceptionDispatchInfo? first = null;
        foreach (object element in elements)
        {
            try
            {
                Delete(element);
            }
            catch (Exception exception) when (exception is DoubleDeleteException or ArgumentException)
            {
                // Passed over, as by the manual heap.
            }
            catch (Exception exception)
            {
                first ??= System.Runtime.ExceptionServices.ExceptionDispatchInfo.Capture(exception);
            }
        }

        first?.Throw();

        void Add(System.Collections.IEnumerable all)
        {
            foreach (object? element in all)
            {
                if (element is not null)
                {
                    elements.Add(element);
                }
            }
        }
    }

    internal static HeapStatistics GetStatistics() =>
        new(GC.GetTotalAllocatedBytes(), GC.GetTotalMemory(forceFullCollection: false), Environment.WorkingSet, Interlocked.Read(ref s_doubleDeletes));

    /// <summary>Whether the finalizer was suppressed, by the program or by a deletion that has run it: the runtime keeps that in bit 30 of the word before the object (BIT_SBLK_FINALIZER_RUN in its syncblk.h), on CoreCLR as on NativeAOT. One that a collection has run may run again.</summary>
    private static unsafe bool IsFinalizerSuppressed(object obj)
    {
        const uint FinalizerRun = 0x4000_0000;
        fixed (byte* first = &Unsafe.As<Fields>(obj).First)
        {
            return (*(uint*)(first - sizeof(nint) - sizeof(uint)) & FinalizerRun) != 0;
        }
    }

    /// <summary>Calls the most derived finalizer, which calls those of its bases; the collector will not call it again.</summary>
    [System.Diagnostics.CodeAnalysis.UnconditionalSuppressMessage("Trimming", "IL2075", Justification = "A type with a finalizer keeps it; without reflection data nothing is found and the collector runs it later.")]
    private static void RunFinalizer(object obj)
    {
        MethodInfo? finalizer = obj.GetType().GetMethod("Finalize", BindingFlags.Instance | BindingFlags.NonPublic, Type.EmptyTypes);
        if (finalizer is null || finalizer.DeclaringType == typeof(object) || IsFinalizerSuppressed(obj))
        {
            return;
        }

        t_finalizing ??= new List<object>();
        t_finalizing.Add(obj);
        try
        {
            finalizer.Invoke(obj, null);
        }
        catch (TargetInvocationException failure) when (failure.InnerException is not null)
        {
            System.Runtime.ExceptionServices.ExceptionDispatchInfo.Throw(failure.InnerException);
        }
        finally
        {
            t_finalizing.RemoveAt(t_finalizing.Count - 1);
            GC.SuppressFinalize(obj);  // it may have registered itself again
        }
    }

    // Any object, as what lies behind its type.
    private sealed class Fields
    {
        public byte First;
    }
}
