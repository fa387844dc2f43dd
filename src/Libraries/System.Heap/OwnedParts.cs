using System.Collections;
using System.Collections.Generic;
using System.Runtime;
using System.Runtime.ExceptionServices;

namespace System;

/// <summary>
/// Deletion of an object with what it owns: first its parts are noted, then it is deleted, then they are, one after the other, each with its own parts. So a cycle
/// ends by itself, a chain of any length needs no stack, and of two objects that own the same the second finds nothing to do.
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

    /// <summary>Notes a part. Called by what the rewriter adds to types that own something.</summary>
    [RuntimeExport("FreeholdAddPart")]
    internal static void Add(object? part)
    {
        if (part is null || IsGoneOrShared(part))
        {
            return;
        }

        object?[] parts = t_parts is { } some && t_count < some.Length ? some : Grow();
        parts[t_count++] = part;
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
            switch (collection)
            {
                case string:
                    break;
                case object?[] array:
                    foreach (object? element in array)
                    {
                        AddElement(element, owner, belongs);
                    }

                    break;
                case List<object?> list when list.GetType() == typeof(List<object?>):  // as the next but one, without an enumerator
                    for (int i = 0; i < list.Count; i++)
                    {
                        AddElement(list[i], owner, belongs);
                    }

                    break;
                case IDictionary dictionary:
                    AddEach(dictionary.Values, owner, belongs);
                    break;
                case IEnumerable enumerable:
                    AddEach(enumerable, owner, belongs);
                    break;
            }
        }
        catch (DanglingReferenceException)
        {
            // Another thread, with another owner, deletes it at this moment.
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
            if (!NativeHeap.IsDeleted(collection) && collection is IDictionary dictionary)
            {
                AddEach(dictionary.Keys, null, null);
            }

            AddElements(collection);
            Heap.Delete(collection);
            DeleteAbove(floor);
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
            catch (DanglingReferenceException)
            {
                // Another thread deletes it at this moment.
            }
            catch (Exception exception)
            {
                first ??= ExceptionDispatchInfo.Capture(exception);
            }
        }

        first?.Throw();
    }

    // As Heap.Delete, but what is gone, or belongs to the runtime, is passed over; and its parts are noted where its owner's are.
    private static void DeletePart(object part)
    {
        DeleteResult result = NativeHeap.DeletePart(part);
        if (result == DeleteResult.NeedsFinalizer)
        {
            result = Deletion.RunFinalizer(part);
        }

        if (result == DeleteResult.OwnsParts)
        {
            NotePartsAndDelete(part);
        }
        else
        {
            Deletion.ReleaseLock(part, result);
        }
    }

    // Its parts stay noted if it was there to be deleted.
    private static DeleteResult NotePartsAndDelete(object obj)
    {
        int floor = t_count;
        try
        {
            NativeHeap.CollectParts(obj);
        }
        catch (DanglingReferenceException)
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
        if (element is not null && !IsGoneOrShared(element) && (belongs == null || belongs(element, owner)))
        {
            Add(element);
        }
    }

    // The enumerator stays: collections share one when they are empty, or are their own.
    private static unsafe void AddEach(IEnumerable collection, object? owner, delegate*<object, object?, bool> belongs)
    {
        IEnumerator enumerator = collection.GetEnumerator();
        try
        {
            while (enumerator.MoveNext())
            {
                AddElement(enumerator.Current, owner, belongs);
            }
        }
        finally
        {
            (enumerator as IDisposable)?.Dispose();
        }
    }

    private static object?[] Grow()
    {
        object?[]? old = t_parts;
        object?[] parts = new object?[old is null ? Least : old.Length * 2];
        old?.AsSpan(0, t_count).CopyTo(parts);
        t_parts = parts;
        NativeHeap.Delete(old);
        return parts;
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
