using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace System;

/// <summary><c>FREEHOLD_RECLAIM=report</c>: the leaks, on standard error, when the process exits.</summary>
internal static unsafe class LeaksAtExit
{
    /// <summary>Before anything of the program runs. By <c>atexit</c>, so that handlers of <see cref="AppDomain.ProcessExit"/> have deleted what they delete.</summary>
    [ModuleInitializer]
    [SuppressMessage("Usage", "CA2255:The 'ModuleInitializer' attribute should not be used in libraries", Justification = "Nothing of the library is called in a program that forgets to delete.")]
    internal static void Initialize()
    {
        if (Heap.IsManual && NativeHeap.ReportsLeaks() != 0)
        {
            NativeHeap.CallAtExit(&Report);
        }
    }

    [UnmanagedCallersOnly]
    [SuppressMessage("Design", "CA1031:Do not catch general exception types", Justification = "The process exits with success or not, whatever a report comes to.")]
    private static void Report()
    {
        try
        {
            HeapEvents.WriteError(LeakReport.Find().ToString().TrimEnd());
        }
        catch (Exception exception) when (exception is OutOfMemoryException or InsufficientMemoryException)
        {
            HeapEvents.WriteError("Freehold: there is no memory to look for leaks.");
        }
        catch (Exception exception)
        {
            HeapEvents.WriteError("Freehold: the leaks could not be told: " + exception.Message);
        }
    }
}
