using System.Collections;
using System.Collections.Generic;
using System.Runtime;
using System.Runtime.CompilerServices;
using System.Runtime.ExceptionServices;

namespace System;

/// <summary>
/// Deletion of an object with what it owns: first its parts are noted, then it is deleted, then they are, one after the other, each with its own parts. So a cycle
/// ends by itself, a chain of any length needs no stack, and of two objects that own the same the second finds nothing to do.
/// Without memory for the notes, each part is deleted when the next one has been named.
/// </summary>
internal static class OwnedParts
{
    private const int Least = 32;
    private const int MostKept = 1024;

    // What this thread has still to delete, the last one first. Deletions nest, by finalizers: each leaves what was there before it.
    [ThreadStatic]
    private static object?[]? t_parts;

    [ThreadStatic]
    private static int t_count;

    // The program's enumerator has thrown what the thread is unwinding.
    [ThreadStatic]
    private static bool t_enumeratorThrew;

    // Of the deletion that this thread makes, the innermost one: beside the notes, which is little unless there is no memory for them. Deletions within it begin with nothing.
    [ThreadStatic]
    private static Unnoted t_unnoted;

    private struct Unnoted
    {
        internal bool IsInUse;
        internal object? Last;  // the part that was named last: whoever names them may still need it to go on
        internal Exception? First;  // what the first finalizer of all parts has thrown
        internal bool Passes;  // they are named again later
        internal bool HasPassed;
    }

    /// <summary>Notes a part. Called by what the rewriter adds to types that own something.</summary>
    [RuntimeExport("FreeholdAddPart")]
    internal static void Add(object? part)
    {
        if (part is null || IsGoneOrShared(part))
        {
            return;
        }

        if ((t_parts is { } parts && t_count < parts.Length) || TryGrow())
        {
            // By a reference: a store into an array asks for the object's type, and another thread may have deleted it just then.
            ref object? slot = ref t_parts![t_count++];
            slot = part;
        }
        else
        {
            AddWithoutMemory(part);
        }
    }

    /// <summary>Notes what is in a collection, and not the collection; nothing if that was deleted. Of a dictionary, the values.</summary>
    [RuntimeExport("FreeholdAddElements")]
    internal static unsafe void AddElements(object? collection) => AddElementsOf(collection, null, null);

    /// <summary>The same of those elements only that belong to the owner, as <paramref name="belongs"/> says of an element and the owner; null: of all.</summary>
    [RuntimeExport("FreeholdAddElementsOf")]
    internal static unsafe void AddElementsOf(object? collection, object? owner, delegate*<object, object?, bool> belongs)
    {
        if (collection is null || NativeHeap.IsDeleted(collection))
        {
            return;
        }

        try
        {
            // As of any part, before what it owns is asked for: it may give elements back to a pool.
            if (NativeHeap.ClaimFinalizer(collection))
            {
                Deletion.CallFinalizer(collection);
            }

            AddEach(collection, owner, belongs);
        }
        catch (DanglingReferenceException) when (NativeHeap.IsDeleted(collection))
        {
            // Another thread, with another owner, deletes it at this moment.
        }
        catch
        {
            t_enumeratorThrew = true;
            throw;
        }
    }

    /// <summary>Deletes an object that the native heap says owns parts, after its finalizer.</summary>
    internal static DeleteResult Delete(object obj)
    {
        if (t_unnoted.IsInUse)
        {
            return DeleteWithin(obj);
        }

        int floor = t_count;
        try
        {
            DeleteResult result = NotePartsAndDelete(obj);
            DeleteAbove(floor);
            return result;
        }
        finally
        {
            ForgetAll(floor);
        }
    }

    private static DeleteResult DeleteWithin(object obj)
    {
        Unnoted outer = t_unnoted;
        t_unnoted = default;
        try
        {
            return Delete(obj);
        }
        finally
        {
            t_unnoted = outer;
        }
    }

    /// <summary>Deletes a collection with its elements.</summary>
    internal static unsafe void DeleteWithElements(IEnumerable collection)
    {
        if (NativeHeap.IsDeletable(collection) == 0)
        {
            Deletion.Check(NativeHeap.Delete(collection));
            return;
        }

        if (t_unnoted.IsInUse)
        {
            Unnoted outer = t_unnoted;
            t_unnoted = default;
            try
            {
                DeleteWithElements(collection);
            }
            finally
            {
                t_unnoted = outer;
            }

            return;
        }

        int floor = t_count;
        try
        {
            bool finalized = false;
            if (!NativeHeap.IsDeleted(collection))
            {
                finalized = NativeHeap.ClaimFinalizer(collection);
                if (finalized)
                {
                    Deletion.CallFinalizer(collection);
                }

                AddKeysAndElements(collection);
            }

            DeleteResult result = Deletion.Continue(collection, finalized ? NativeHeap.DeleteFinalized(collection) : NativeHeap.Delete(collection));
            Deletion.Check(result);
            if (result != DeleteResult.Shared)
            {
                DeleteAbove(floor);
            }
        }
        finally
        {
            ForgetAll(floor);
        }
    }

    // The keys come first, so that they are deleted last: a value may need its key. Without memory they would go at once, and so they are named again.
    private static unsafe void AddKeysAndElements(IEnumerable collection)
    {
        bool passed = false;
        if (collection is IDictionary)
        {
            t_unnoted.IsInUse = t_unnoted.Passes = true;
            Enumerate(collection, null, null, keys: true);
            passed = t_unnoted.HasPassed;
            t_unnoted = default;
        }

        AddElements(collection);
        if (passed)
        {
            Enumerate(collection, null, null, keys: true);
        }
    }

    private static void DeleteAbove(int floor)
    {
        while (TakeLast(floor) is { } part)
        {
            DeleteAndCatch(part);
        }

        if (t_unnoted.First is { } first)
        {
            ExceptionDispatchInfo.Throw(first);
        }
    }

    private static object? TakeLast(int floor)
    {
        if (t_unnoted.Last is { } last)
        {
            t_unnoted.Last = null;
            return last;
        }

        if (t_count == floor)
        {
            return null;
        }

        ref object? top = ref t_parts![--t_count];
        object? part = top;
        top = null;
        return part;
    }

    private static void DeleteAndCatch(object part)
    {
        try
        {
            DeletePart(part);
        }
        catch (Exception exception)
        {
            t_unnoted.IsInUse = true;
            t_unnoted.First ??= exception;  // to capture it takes memory
        }
    }

    // As Heap.Delete, but what is gone, or belongs to the runtime, is passed over; and its parts are noted where its owner's are. What its finalizer throws, whatever that is, is the program's.
    private static void DeletePart(object part)
    {
        t_enumeratorThrew = false;
        DeleteResult result = NativeHeap.DeletePart(part);
        if (result == DeleteResult.NeedsFinalizer)
        {
            result = Deletion.RunFinalizer(part);
        }

        try
        {
            if (result == DeleteResult.OwnsParts)
            {
                NotePartsAndDelete(part);
            }
            else
            {
                Deletion.ReleaseLock(part, result);
            }
        }
        catch (DanglingReferenceException) when (!t_enumeratorThrew)
        {
            // Another thread deletes it at this moment.
        }
    }

    // Its parts stay noted if it was there to be deleted.
    private static DeleteResult NotePartsAndDelete(object obj)
    {
        int floor = t_count;
        t_enumeratorThrew = false;
        DeleteResult result = DeleteResult.NotDeletable;
        try
        {
            try
            {
                NativeHeap.CollectParts(obj);
            }
            catch (DanglingReferenceException) when (!t_enumeratorThrew)
            {
                // A node that the program deleted itself, and whose memory is gone: what hangs on it stays. If it is the object, the deletion below says so.
            }

            result = Deletion.ReleaseLock(obj, NativeHeap.DeleteItself(obj));
            return result;
        }
        finally
        {
            if (result != DeleteResult.Deleted)
            {
                Forget(floor);  // the object stays, and so does what it owns
                t_unnoted.Last = null;
            }
        }
    }

    // An empty array is one that all collections of its type share.
    private static bool IsGoneOrShared(object part)
    {
        try
        {
            return NativeHeap.IsDeleted(part) || part is Array { Length: 0 };
        }
        catch (DanglingReferenceException)
        {
            return true;
        }
    }

    private static unsafe void AddElement(object? element, object? owner, delegate*<object, object?, bool> belongs)
    {
        if (element is not null && !IsGoneOrShared(element) && (belongs == null || Belongs(element, owner, belongs)))
        {
            Add(element);
        }
    }

    private static unsafe bool Belongs(object element, object? owner, delegate*<object, object?, bool> belongs)
    {
        try
        {
            return belongs(element, owner);
        }
        catch (DanglingReferenceException)
        {
            return false;
        }
    }

    // Arrays and lists need no enumerator, and so no memory.
    private static unsafe void AddEach(object collection, object? owner, delegate*<object, object?, bool> belongs)
    {
        switch (collection)
        {
            case object?[] array:
                foreach (object? element in array)
                {
                    AddElement(element, owner, belongs);
                }

                break;
            case string or Array:
                break;  // of values, which nobody can delete
            case IDictionary dictionary:
                Enumerate(dictionary, owner, belongs, keys: false);
                break;
            case IList list:
                for (int i = 0; i < list.Count && GetObject(list, i, out object? element); i++)
                {
                    AddElement(element, owner, belongs);
                }

                break;
            case IEnumerable enumerable:
                Enumerate(enumerable, owner, belongs, keys: false);
                break;
        }
    }

    // False for values: a collection of these makes a box of the same one whenever it is asked, and there is nothing to delete in it. Without memory it cannot.
    private static bool GetObject(IList list, int index, out object? element)
    {
        try
        {
            element = list[index];
            return !IsValue(element) || ReferenceEquals(element, list[index]);
        }
        catch (OutOfMemoryException)
        {
            element = null;
            return false;
        }
    }

    private static bool GetNextObject(IEnumerator enumerator, out object? element)
    {
        element = null;
        try
        {
            if (!enumerator.MoveNext())
            {
                return false;
            }

            element = enumerator.Current;
            return !IsValue(element) || ReferenceEquals(element, enumerator.Current);
        }
        catch (OutOfMemoryException)
        {
            return false;
        }
    }

    // An element whose memory is gone is none.
    private static bool IsValue(object? element)
    {
        try
        {
            return element is ValueType;
        }
        catch (DanglingReferenceException)
        {
            return false;
        }
    }

    // The enumerator stays: collections share one when they are empty, or are their own. Without memory for one, so do the elements.
    private static unsafe void Enumerate(IEnumerable collection, object? owner, delegate*<object, object?, bool> belongs, bool keys)
    {
        IEnumerator enumerator;
        try
        {
            enumerator = (collection is not IDictionary dictionary ? collection : keys ? dictionary.Keys : dictionary.Values).GetEnumerator();
        }
        catch (OutOfMemoryException)
        {
            return;
        }

        try
        {
            while (GetNextObject(enumerator, out object? element))
            {
                AddElement(element, owner, belongs);
            }
        }
        finally
        {
            (enumerator as IDisposable)?.Dispose();
        }
    }

    // The part that was named before this one goes now, with all that it owns. Where that nests too deep, it is left to reclaim. What a finalizer throws is told at the end, as always.
    private static void AddWithoutMemory(object part)
    {
        if (t_unnoted.Passes)
        {
            t_unnoted.HasPassed = true;
            return;
        }

        t_unnoted.IsInUse = true;
        object? before = t_unnoted.Last;
        t_unnoted.Last = null;
        if (before is not null && RuntimeHelpers.TryEnsureSufficientExecutionStack())
        {
            int floor = t_count;
            do
            {
                DeleteAndCatch(before);
                before = TakeLast(floor);
            }
            while (before is not null);
            t_enumeratorThrew = false;
        }

        t_unnoted.Last = part;
    }

    [System.Diagnostics.CodeAnalysis.MemberNotNullWhen(true, nameof(t_parts))]
    private static bool TryGrow()
    {
        object?[]? old = t_parts;
        object?[] parts;
        try
        {
            parts = new object?[old is null ? Least : old.Length * 2];
        }
        catch (OutOfMemoryException)
        {
            return false;
        }

        old?.AsSpan(0, t_count).CopyTo(parts);
        t_parts = parts;
        NativeHeap.Delete(old);
        return true;
    }

    private static void ForgetAll(int floor)
    {
        Forget(floor);
        if (t_unnoted.IsInUse)
        {
            t_unnoted = default;
        }
    }

    private static void Forget(int floor)
    {
        if (t_parts is not { } parts)
        {
            return;
        }

        parts.AsSpan(floor, t_count - floor).Clear();
        t_count = floor;
        if (floor == 0 && parts.Length > MostKept)
        {
            t_parts = null;
            NativeHeap.Delete(parts);
        }
    }
}
