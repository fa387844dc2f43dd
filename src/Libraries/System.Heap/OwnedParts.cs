using System.Collections;
using System.Collections.Generic;
using System.Runtime;
using System.Runtime.CompilerServices;
using System.Runtime.ExceptionServices;

namespace System;

/// <summary>
/// Deletion of an object with what it owns: first its parts are noted, then it is deleted, then they are, one after the other, each with its own parts. So a cycle
/// ends by itself, a chain of any length needs no stack, and of two objects that own the same the second finds nothing to do.
/// Without memory for the notes, parts are deleted as they are named.
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
        int floor = t_count;
        try
        {
            DeleteResult result = NotePartsAndDelete(obj);
            DeleteAbove(floor);
            return result;
        }
        finally
        {
            Forget(floor);
        }
    }

    /// <summary>Deletes a collection with its elements.</summary>
    internal static unsafe void DeleteWithElements(IEnumerable collection)
    {
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

                if (collection is IDictionary)
                {
                    Enumerate(collection, null, null, keys: true);
                }

                AddElements(collection);
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
            Forget(floor);
        }
    }

    private static void DeleteAbove(int floor)
    {
        ExceptionDispatchInfo? first = null;
        while (t_count > floor)
        {
            ref object? top = ref t_parts![--t_count];
            object part = top!;
            top = null;
            try
            {
                DeletePart(part);
            }
            catch (Exception exception)
            {
                first ??= ExceptionDispatchInfo.Capture(exception);
            }
        }

        first?.Throw();
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
        try
        {
            NativeHeap.CollectParts(obj);
        }
        catch (DanglingReferenceException) when (!t_enumeratorThrew)
        {
            // A node that the program deleted itself, and whose memory is gone: what hangs on it stays. If it is the object, the deletion below says so.
        }
        catch
        {
            Forget(floor);  // the object stays, and so does what it owns
            throw;
        }

        DeleteResult result;
        try
        {
            result = Deletion.ReleaseLock(obj, NativeHeap.DeleteItself(obj));
        }
        catch
        {
            Forget(floor);
            throw;
        }

        if (result != DeleteResult.Deleted)
        {
            Forget(floor);
        }

        return result;
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
                for (int i = 0; i < list.Count; i++)
                {
                    object? element = list[i];
                    if (IsValue(element) && !ReferenceEquals(element, list[i]))
                    {
                        break;
                    }

                    AddElement(element, owner, belongs);
                }

                break;
            case IEnumerable enumerable:
                Enumerate(enumerable, owner, belongs, keys: false);
                break;
        }
    }

    // A collection of values makes a box of the same one whenever it is asked: there is nothing to delete in it. An element whose memory is gone is none.
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
            while (enumerator.MoveNext())
            {
                object? element = enumerator.Current;
                if (IsValue(element) && !ReferenceEquals(element, enumerator.Current))
                {
                    break;
                }

                AddElement(element, owner, belongs);
            }
        }
        finally
        {
            (enumerator as IDisposable)?.Dispose();
        }
    }

    // Room is made by the deletion of what was noted last: its owner has been asked for its parts, and goes in any case. Where that nests too deep, the part is left to reclaim.
    private static void AddWithoutMemory(object part)
    {
        if (!RuntimeHelpers.TryEnsureSufficientExecutionStack())
        {
            return;
        }

        if (t_count == 0)
        {
            DeletePart(part);
            return;
        }

        ref object? top = ref t_parts![t_count - 1];
        object before = top!;
        top = part;
        DeletePart(before);
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
