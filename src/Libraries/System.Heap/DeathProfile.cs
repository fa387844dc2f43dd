using System.Collections.Generic;
using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;

namespace System;

/// <summary>
/// <c>FREEHOLD_DEATHS</c>: the file for `freehold deaths`. The native half (heap/death_look.h) knows addresses; here they become the names of types and methods. Written after 8, 16, 32 … looks, later
/// after each 1,024, by the thread of events; and when the process exits.
/// </summary>
internal static unsafe class DeathProfile
{
    // As in heap/stack_store.h.
    private const int Depth = 32;

    private static readonly Lock s_lock = new();
    private static bool s_isDone;  // under the lock

    [ModuleInitializer]
    [SuppressMessage("Usage", "CA2255:The 'ModuleInitializer' attribute should not be used in libraries", Justification = "The program need not call the library for it.")]
    internal static void Initialize()
    {
        if (Heap.IsManual && NativeHeap.RecordsDeaths() != 0)
        {
            NativeHeap.CallAtExit(&WriteAtExit);
            HeapEvents.ListenToDeaths();
        }
    }

    /// <summary>Says what fails, on standard error. `last`: the process exits, and nothing is written after it.</summary>
    [SuppressMessage("Design", "CA1031:Do not catch general exception types", Justification = "The program goes on, or exits with success or not, whatever a profile comes to.")]
    internal static void Write(bool last)
    {
        try
        {
            WriteWhatIsKnown(last);
        }
        catch (Exception exception) when (exception is OutOfMemoryException or InsufficientMemoryException)
        {
            TryToTell("there is no memory to write the file; what was written before is there.");
        }
        catch (Exception exception)
        {
            TryToTell("the file could not be written: " + exception.Message);
        }
    }

    private static void TryToTell(string what)
    {
        try
        {
            HeapEvents.WriteError("Freehold: FREEHOLD_DEATHS: " + what);
        }
        catch (Exception exception) when (exception is OutOfMemoryException or InsufficientMemoryException)
        {
            // There is no memory to say so.
        }
    }

    private static void WriteWhatIsKnown(bool last)
    {
        NativeHeap.LeaveOutOfDeaths();
        DeathRow* rows = null;
        DeathFieldRow* fields = null;
        try
        {
            rows = (DeathRow*)NativeMemory.Alloc(DeathRow.Most, (nuint)sizeof(DeathRow));
            fields = (DeathFieldRow*)NativeMemory.Alloc(DeathFieldRow.Most, (nuint)sizeof(DeathFieldRow));
            // The scope ends outside of the lock: it may run what the program has written.
            using (Heap.Scope())
            {
                DeathTotals totals;
                NativeHeap.TakeDeaths(rows, fields, &totals);
                byte[] text = Describe(new(rows, DeathRow.Most), new(fields, DeathFieldRow.Most), totals, last);
                lock (s_lock)
                {
                    if (!s_isDone)
                    {
                        s_isDone = last;
                        fixed (byte* start = text)
                        {
                            NativeHeap.WriteDeaths(start, text.Length);
                        }
                    }
                }
            }
        }
        finally
        {
            NativeMemory.Free(fields);
            NativeMemory.Free(rows);
        }
    }

    [UnmanagedCallersOnly]
    private static void WriteAtExit() => Write(last: true);

    // Types, stacks and places in code are numbers in the rows, and told once: their names follow behind.
    private static byte[] Describe(ReadOnlySpan<DeathRow> rows, ReadOnlySpan<DeathFieldRow> fields, in DeathTotals totals, bool last)
    {
        var types = new Numbers<nint>();
        var stacks = new Numbers<uint>();
        var places = new Numbers<nint>();
        JsonText json = new JsonText().Begin('{').Name("process").Value(Environment.ProcessId).Name("version").Value(typeof(Heap).Assembly.GetName().Version?.ToString(3) ?? "")
            .Name("program").Value(Environment.ProcessPath ?? "").Name("atExit").Value(last).Name("allocated").Value(totals.Allocated).Name("looks").Value(totals.Looks)
            .Name("samples").Value(totals.Samples).Name("withoutRoom").Value(totals.WithoutRoom).Name("lost").Value(totals.Lost).Name("longestInterval").Value(totals.LongestInterval).Name("nanoseconds").Value(totals.Nanoseconds);
        json.Name("deaths").Begin('[');
        foreach (ref readonly DeathRow row in rows)
        {
            if (row.Type != 0)
            {
                json.Begin('{').Name("type").Value(types.Of(row.Type)).Name("stack").Value(stacks.Of(row.Stack)).Name("kind").Value(row.Kind)
                    .Name("holder").Value(row.HolderType == 0 ? -1 : types.Of(row.HolderType)).Name("offset").Value(row.Offset).Name("method").Value(row.Method == 0 ? -1 : places.Of(row.Method + 1))  // an address that a call could return to
                    .Name("frameGone").Value(row.FrameGone != 0).Name("aliveAfter").Value(row.AliveAfter)
                    .Name("samples").Value(row.Samples).Name("bytes").Value(row.Bytes).Name("ageSeen").Value(row.AgeSeen).Name("ageDead").Value(row.AgeDead).End('}');
            }
        }

        json.End(']').Name("fields").Begin('[');
        foreach (ref readonly DeathFieldRow row in fields)
        {
            if (row.Type != 0)
            {
                json.Begin('{').Name("type").Value(types.Of(row.Type)).Name("offset").Value(row.Offset).Name("objects").Value(row.Objects).Name("held").Value(row.Held).Name("shared").Value(row.Shared).Name("died").Value(row.Died)
                    .Name("survived").Value(row.Survived).Name("replaced").Value(row.Replaced).Name("moved").Value(row.Moved).Name("emptied").Value(row.Emptied)
                    .Name("followed").Value(row.Followed).Name("unfollowed").Value(row.Unfollowed).Name("number").Value(row.Number).Name("of").Value(row.Of).End('}');
            }
        }

        json.End(']').Name("types").Begin('[');
        foreach (nint type in types.All)
        {
            json.Value(HeapDump.NameOf(type));
        }

        json.End(']').Name("stacks").Begin('[');
        nint* addresses = stackalloc nint[Depth];
        foreach (uint stack in stacks.All)
        {
            json.Begin('[');
            int count = NativeHeap.ReadStack(stack, addresses, Depth);
            for (int i = 0; i < count; i++)
            {
                json.Value(places.Of(addresses[i]));
            }

            json.End(']');
        }

        json.End(']').Name("places").Begin('[');
        foreach (nint place in places.All)
        {
            json.Value(AllocationStack.DescribePlace(place));
        }

        return json.End(']').End('}').ToBytes();
    }

    private sealed class Numbers<T>
        where T : notnull
    {
        private readonly Dictionary<T, int> _numbers = [];

        internal List<T> All { get; } = [];

        internal int Of(T value)
        {
            if (!_numbers.TryGetValue(value, out int number))
            {
                _numbers[value] = number = All.Count;
                All.Add(value);
            }

            return number;
        }
    }
}
