using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;

namespace System;

/// <summary>Where tools look for meters and event sources by their names, those of the heap are there from the start.</summary>
internal static class Telemetry
{
    /// <summary>In a program without EventSourceSupport, the default, there is nothing of this.</summary>
    [ModuleInitializer]
    [SuppressMessage("Usage", "CA2255:The 'ModuleInitializer' attribute should not be used in libraries", Justification = "A tool asks by name; the program need not call the library for it.")]
    internal static void Initialize()
    {
        if (Heap.IsManual && HeapEventSource.IsPossible)
        {
            Try(HeapMeter.Create, "the meter Freehold.Heap");
            Try(HeapEventSource.Create, "the event source Freehold-Heap");
        }
    }

    /// <summary>On standard error, without an object: there may be no memory.</summary>
    internal static unsafe void SayThatThereIsNone(string what)
    {
        ReadOnlySpan<char> begin = "Freehold: the process has no room for ", end = "; it goes on without.\n";
        byte* text = stackalloc byte[256];
        int length = 0;
        Append(begin, text, ref length);
        Append(what, text, ref length);
        Append(end, text, ref length);
        text[length] = 0;
        NativeHeap.WriteError(text);
    }

    // A listener is called while they are made, and may throw too. An exception of a module initializer would end the program.
    [SuppressMessage("Design", "CA1031:Do not catch general exception types", Justification = "Whatever it is, the program goes on without.")]
    private static void Try(Action create, string what)
    {
        try
        {
            create();
        }
        catch (Exception)
        {
            SayThatThereIsNone(what);
        }
    }

    // ASCII.
    private static unsafe void Append(ReadOnlySpan<char> part, byte* text, ref int length)
    {
        foreach (char next in part)
        {
            text[length++] = (byte)next;
        }
    }
}
