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
            HeapMeter.Create();
            HeapEventSource.Create();
        }
    }
}
