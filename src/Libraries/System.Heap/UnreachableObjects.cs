using System.Collections.Generic;
using System.Runtime.InteropServices;

namespace System;

/// <summary>Live objects of one type that the program cannot reach any more, and so cannot delete: see <see cref="Heap.FindUnreachable"/>.</summary>
/// <param name="Type">Their type.</param>
/// <param name="Count">How many there are.</param>
/// <param name="Bytes">What they take, headers included.</param>
public readonly record struct UnreachableObjects(Type Type, long Count, long Bytes)
{
    // As in heap/reachability.h.
    private const int NotPossible = 1;
    private const int NoRoom = 2;

    internal static unsafe IReadOnlyList<UnreachableObjects> Find()
    {
        // They are no leaks.
        OutgrownArrays.DeleteAll();
        for (int capacity = 4096; ; capacity *= 4)
        {
            var entries = (UnreachableEntry*)NativeMemory.Alloc((nuint)capacity, (nuint)sizeof(UnreachableEntry));
            try
            {
                int result = NativeHeap.FindUnreachable(entries, capacity);
                if (result == NotPossible)
                {
                    throw NoMemory();
                }

                if (result != NoRoom)
                {
                    return ToList(new ReadOnlySpan<UnreachableEntry>(entries, capacity));
                }
            }
            finally
            {
                NativeMemory.Free(entries);
            }
        }
    }

    internal static InsufficientMemoryException NoMemory() =>
        new("There is no memory to mark what can be reached: a bit for each eight bytes of the heap, and 1.6% of its address space, are needed.");

    private static List<UnreachableObjects> ToList(ReadOnlySpan<UnreachableEntry> entries)
    {
        var found = new List<UnreachableObjects>();
        foreach (UnreachableEntry entry in entries)
        {
            if (entry.Type != 0 && Type.GetTypeFromHandle(RuntimeTypeHandle.FromIntPtr(entry.Type)) is Type type)
            {
                found.Add(new UnreachableObjects(type, entry.Count, entry.Bytes));
            }
        }

        found.Sort((one, other) => other.Bytes.CompareTo(one.Bytes));
        return found;
    }
}

/// <summary>The layout of <c>UnreachableType</c> in heap/reachability.h.</summary>
[StructLayout(LayoutKind.Sequential)]
internal readonly struct UnreachableEntry
{
    internal readonly nint Type;
    internal readonly long Count;
    internal readonly long Bytes;
}
