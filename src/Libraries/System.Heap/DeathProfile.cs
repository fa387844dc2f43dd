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

    // What is made for so many rows or names is deleted before the next ones: a program with a small heap has no room for all.
    private const int Piece = 256;

    private static int s_writer;  // the thread that writes; 0: none
    private static bool s_isDone;  // the writer's
    private static bool s_hasTold;  // that there is no memory; the writer's

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
        if (!Claim(wait: last))
        {
            return;
        }

        int before = NativeHeap.LeaveOutOfDeaths(1);
        try
        {
            if (!s_isDone)
            {
                s_isDone = last;
                WriteWhatIsKnown(last);
            }
        }
        catch (Exception exception) when (exception is OutOfMemoryException or InsufficientMemoryException)
        {
            if (!s_hasTold)
            {
                s_hasTold = true;
                TryToTell("there is no memory to write the file; what was written before is there.");
            }
        }
        catch (Exception exception)
        {
            TryToTell("the file could not be written: " + exception.Message);
        }
        finally
        {
            NativeHeap.LeaveOutOfDeaths(before);
            Volatile.Write(ref s_writer, 0);
        }
    }

    // No lock: scopes end within, where finalizers run. False: another thread writes, or this one, which exits in a finalizer.
    private static bool Claim(bool wait)
    {
        int thread = Environment.CurrentManagedThreadId, writer;
        while ((writer = Interlocked.CompareExchange(ref s_writer, thread, 0)) != 0)
        {
            if (!wait || writer == thread)
            {
                return false;
            }

            Thread.Sleep(1);
        }

        return true;
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
        DeathRow* rows = null;
        DeathFieldRow* fields = null;
        bool isWhole = false;
        try
        {
            rows = (DeathRow*)NativeMemory.Alloc(DeathRow.Most, (nuint)sizeof(DeathRow));
            fields = (DeathFieldRow*)NativeMemory.Alloc(DeathFieldRow.Most, (nuint)sizeof(DeathFieldRow));
            DeathTotals totals;
            NativeHeap.TakeDeaths(rows, fields, &totals);
            using (Heap.Scope())
            {
                Describe(new(rows, DeathRow.Most), new(fields, DeathFieldRow.Most), totals, last);
            }

            isWhole = true;
        }
        finally
        {
            NativeHeap.EndDeaths(isWhole ? 1 : 0);
            NativeMemory.Free(fields);
            NativeMemory.Free(rows);
        }
    }

    [UnmanagedCallersOnly]
    private static void WriteAtExit() => Write(last: true);

    // Types, stacks and places in code are numbers in the rows, and told once: their names follow behind.
    private static void Describe(ReadOnlySpan<DeathRow> rows, ReadOnlySpan<DeathFieldRow> fields, in DeathTotals totals, bool last)
    {
        using var types = new NativeNumbers();
        using var stacks = new NativeNumbers();
        using var places = new NativeNumbers();
        JsonText json = new JsonText().Begin('{').Name("process").Value(Environment.ProcessId).Name("version").Value(typeof(Heap).Assembly.GetName().Version?.ToString(3) ?? "")
            .Name("program").Value(Environment.ProcessPath ?? "").Name("atExit").Value(last).Name("allocated").Value(totals.Allocated).Name("looks").Value(totals.Looks)
            .Name("samples").Value(totals.Samples).Name("withoutRoom").Value(totals.WithoutRoom).Name("lost").Value(totals.Lost).Name("untold").Value(totals.Untold)
            .Name("longestInterval").Value(totals.LongestInterval).Name("nanoseconds").Value(totals.Nanoseconds);
        json.Name("deaths").Begin('[');
        for (int i = 0; i < rows.Length; i += Piece)
        {
            using (Heap.Scope())
            {
                foreach (ref readonly DeathRow row in rows.Slice(i, Piece))
                {
                    if (row.Type != 0)
                    {
                        json.Begin('{').Name("type").Value(types.Of(row.Type)).Name("stack").Value(stacks.Of((nint)row.Stack)).Name("kind").Value(row.Kind)
                            .Name("holder").Value(row.HolderType == 0 ? -1 : types.Of(row.HolderType)).Name("offset").Value(row.Offset).Name("method").Value(row.Method == 0 ? -1 : places.Of(row.Method + 1))  // an address that a call could return to
                            .Name("frameGone").Value(row.FrameGone != 0).Name("aliveAfter").Value(row.AliveAfter)
                            .Name("samples").Value(row.Samples).Name("bytes").Value(row.Bytes).Name("ageSeen").Value(row.AgeSeen).Name("ageDead").Value(row.AgeDead).End('}');
                    }
                }

                Add(json);
            }
        }

        json.End(']').Name("fields").Begin('[');
        for (int i = 0; i < fields.Length; i += Piece)
        {
            using (Heap.Scope())
            {
                foreach (ref readonly DeathFieldRow row in fields.Slice(i, Piece))
                {
                    if (row.Type != 0)
                    {
                        json.Begin('{').Name("type").Value(types.Of(row.Type)).Name("offset").Value(row.Offset).Name("objects").Value(row.Objects).Name("held").Value(row.Held).Name("shared").Value(row.Shared).Name("died").Value(row.Died)
                            .Name("survived").Value(row.Survived).Name("replaced").Value(row.Replaced).Name("moved").Value(row.Moved).Name("emptied").Value(row.Emptied)
                            .Name("followed").Value(row.Followed).Name("unfollowed").Value(row.Unfollowed).Name("number").Value(row.Number).Name("of").Value(row.Of).End('}');
                    }
                }

                Add(json);
            }
        }

        WriteList(json.End(']'), "types", types, static (json, type, _) => json.Value(HeapDump.NameOf(type)));
        WriteList(json, "stacks", stacks, WriteStack, places);
        WriteList(json, "places", places, static (json, place, _) => json.Value(AllocationStack.DescribePlace(place)));
        json.End('}');
        Add(json);
    }

    private static void WriteList(JsonText json, string name, NativeNumbers list, Action<JsonText, nint, NativeNumbers?> write, NativeNumbers? others = null)
    {
        json.Name(name).Begin('[');
        for (int i = 0; i < list.Count; i += Piece)
        {
            using (Heap.Scope())
            {
                for (int j = i; j < Math.Min(i + Piece, list.Count); j++)
                {
                    write(json, list[j], others);
                }

                Add(json);
            }
        }

        json.End(']');
    }

    private static void WriteStack(JsonText json, nint stack, NativeNumbers? places)
    {
        nint* addresses = stackalloc nint[Depth];
        int count = NativeHeap.ReadStack((uint)stack, addresses, Depth);
        json.Begin('[');
        for (int i = 0; i < count; i++)
        {
            json.Value(places!.Of(addresses[i]));
        }

        json.End(']');
    }

    private static void Add(JsonText json)
    {
        byte[] bytes = json.TakeBytes();
        fixed (byte* start = bytes)
        {
            NativeHeap.AddToDeaths(start, bytes.Length);
        }
    }
}
