using System.Diagnostics.CodeAnalysis;
using System.Runtime.InteropServices;
using System.Text;

namespace System;

/// <summary>What the native half (runtime/heap_dump.h) cannot know of a heap dump: the names of the types.</summary>
internal static unsafe class HeapDump
{
    private const int MostReason = 512;

    // Of one: generic types of generic types have long ones.
    private const int MostCharacters = 100_000;

    // Of all names together; beyond it types have empty ones.
    private const int MostBytes = 256 << 20;

    /// <summary>Answers the request that is under way; `anyway`: also where a fork has a lasting price. Null: done, or cut off; else why there is no dump, in UTF-8.</summary>
    [SuppressMessage("Design", "CA1031:Do not catch general exception types", Justification = "Whatever a question comes to, the process goes on.")]
    internal static byte[]? Answer(bool anyway)
    {
        nint* types;
        byte* reason = stackalloc byte[MostReason];
        int count = NativeHeap.DumpHeap(anyway ? 1 : 0, &types, reason, MostReason);
        if (count == -1)
        {
            return MemoryMarshal.CreateReadOnlySpanFromNullTerminated(reason).ToArray();
        }

        byte* names = null;
        nuint length = 0;
        try
        {
            // What they are made of is not the program's. Nothing is sent within the scope: a client that does not read must not keep it open.
            using (Heap.Scope())
            {
                for (int i = 0; i < count; i++)
                {
                    Append(NameOf(types[i]), ref names, ref length);
                }
            }

            NativeHeap.EndDump(count < 0 ? null : names, (long)length);
        }
        catch (Exception)
        {
            // Memory, mostly: the client sees that it was cut off, and the program goes on.
            NativeHeap.EndDump(null, 0);
        }
        finally
        {
            NativeMemory.Free(names);
        }

        return null;
    }

    [SuppressMessage("Design", "CA1031:Do not catch general exception types", Justification = "A type that cannot be told is one without a name.")]
    internal static string NameOf(nint handle)
    {
        try
        {
            return handle == 0 ? "(no type: the heap is damaged)" : NativeHeap.IsType(handle) == 0 ? "(static fields)" : Type.GetTypeFromHandle(RuntimeTypeHandle.FromIntPtr(handle))?.ToString() ?? "";
        }
        catch (Exception exception) when (exception is not (OutOfMemoryException or InsufficientMemoryException))
        {
            return "";
        }
    }

    private static void Append(string name, ref byte* names, ref nuint length)
    {
        string shown = name.Length > MostCharacters ? string.Concat(name.AsSpan(0, MostCharacters), "...") : name;
        byte[] text = Encoding.UTF8.GetBytes(length > MostBytes ? "" : shown.Replace("\0", "", StringComparison.Ordinal));
        byte* grown = (byte*)NativeMemory.Realloc(names, length + (nuint)text.Length + 1);
        names = grown;
        text.CopyTo(new Span<byte>(names + length, text.Length));
        length += (nuint)text.Length;
        names[length++] = 0;
    }
}
