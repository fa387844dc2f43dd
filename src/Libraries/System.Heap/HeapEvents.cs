using System.Diagnostics.CodeAnalysis;
using System.Text;
using System.Threading;

namespace System;

/// <summary>The events of <see cref="Heap"/>. Their handlers run on a thread of their own, which the first handler starts: the heap never waits for one.</summary>
internal static class HeapEvents
{
    private static readonly Lock s_lock = new();
    private static EventHandler<MemoryPressureEventArgs>? s_pressure;
    private static EventHandler<LeakReport>? s_leaks;
    private static bool s_listens;

    internal static void Add(EventHandler<MemoryPressureEventArgs>? handler)
    {
        lock (s_lock)
        {
            s_pressure += handler;
            Listen(Notice.Pressure);
        }
    }

    internal static void Remove(EventHandler<MemoryPressureEventArgs>? handler)
    {
        lock (s_lock)
        {
            s_pressure -= handler;
        }
    }

    internal static void Add(EventHandler<LeakReport>? handler)
    {
        lock (s_lock)
        {
            s_leaks += handler;
            Listen(Notice.Growth);
        }
    }

    internal static void Remove(EventHandler<LeakReport>? handler)
    {
        lock (s_lock)
        {
            s_leaks -= handler;
        }
    }

    /// <summary>From now on the thread takes what the heap traces.</summary>
    internal static void ListenToTraces()
    {
        lock (s_lock)
        {
            Listen(Notice.Trace);
        }
    }

    /// <summary>From now on the thread writes the file of deaths, when there is more to say.</summary>
    internal static void ListenToDeaths()
    {
        lock (s_lock)
        {
            Listen(Notice.Deaths);
        }
    }

    private static void Listen(uint notices)
    {
        if (!Heap.IsManual)
        {
            return;
        }

        NativeHeap.Listen(notices);
        if (!s_listens)
        {
            new Thread(Run) { IsBackground = true, Name = "Freehold events" }.Start();
            s_listens = true;
        }
    }

    private static unsafe void Run()
    {
        MemoryPressureEventArgs? next = null;
        while (true)
        {
            Notice notice;
            try
            {
                // While there is memory.
                next ??= new MemoryPressureEventArgs();
                NativeHeap.WaitForNotice(&notice);
                if (HeapEventSource.IsPossible && (notice.Notices & Notice.Trace) != 0)
                {
                    HeapEventSource.WriteTraces();
                }

                if ((notice.Notices & Notice.Pressure) != 0 && Volatile.Read(ref s_pressure) is { } pressure)
                {
                    MemoryPressureEventArgs arguments = next;
                    next = null;
                    arguments.Fill(notice, HeapStatistics.Read().Handles.ResidentBytes);
                    Raise(pressure, arguments);
                }

                if ((notice.Notices & Notice.Growth) != 0 && Volatile.Read(ref s_leaks) is { } leaks && LeakReport.Find() is { Count: > 0 } report)
                {
                    Raise(leaks, report);
                }

                // Behind the handlers, which may make room.
                if ((notice.Notices & Notice.Deaths) != 0)
                {
                    DeathProfile.Write(last: false);
                }
            }
            catch (Exception exception) when (exception is OutOfMemoryException or InsufficientMemoryException)
            {
                // There is nothing left to tell it with. An allocation that fails tells again; not at once, as this thread may fail too.
                Thread.Sleep(10);
            }
        }
    }

    [SuppressMessage("Design", "CA1031:Do not catch general exception types", Justification = "A handler that throws must not end the thread, nor keep the next one from being called.")]
    private static void Raise<TArguments>(EventHandler<TArguments> handlers, TArguments arguments)
    {
        try
        {
            foreach (EventHandler<TArguments> handler in Delegate.EnumerateInvocationList(handlers))
            {
                try
                {
                    handler(null, arguments);
                }
                catch (Exception exception)
                {
                    TellOf(exception);
                }
            }
        }
        catch (Exception exception) when (exception is not (OutOfMemoryException or InsufficientMemoryException))
        {
            TellOf(exception);  // the program has deleted a handler that still listens
        }
    }

    private static unsafe void TellOf(Exception exception)
    {
        try
        {
            WriteError($"Freehold: a handler of an event of System.Heap has thrown, which is ignored: {exception}");
        }
        catch (Exception failure) when (failure is OutOfMemoryException or InsufficientMemoryException)
        {
            // No room for the text: the other handlers come first, one of them may make some.
            fixed (byte* start = "Freehold: a handler of an event of System.Heap has thrown, which is ignored. There is no memory to say more.\n\0"u8)
            {
                NativeHeap.WriteError(start);
            }
        }
    }

    internal static unsafe void WriteError(string text)
    {
        byte[] bytes = Encoding.UTF8.GetBytes(text + Environment.NewLine + "\0");
        fixed (byte* start = bytes)
        {
            NativeHeap.WriteError(start);
        }
    }
}
