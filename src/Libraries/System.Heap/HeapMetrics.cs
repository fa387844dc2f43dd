using System.Diagnostics.Metrics;
using System.Diagnostics.Tracing;

namespace System;

/// <summary>The figures of <see cref="HeapStatistics"/> as metrics, and the heap's phases and stops as events, for OpenTelemetry, dotnet-counters, dotnet-trace and their kind.</summary>
/// <remarks>
/// In a program with <c>EventSourceSupport=true</c> both are there from its start, under these names. In others, reading <see cref="MeterName"/> makes the meter:
/// <c>builder.AddMeter(HeapMetrics.MeterName)</c>. While nobody listens, neither reads or records anything. docs/metrics.md lists the instruments and the events. Under a garbage collector there
/// are none of them.
/// </remarks>
public static class HeapMetrics
{
    /// <summary>The name of the <see cref="Meter"/>, "Freehold.Heap". The meter exists once this was read.</summary>
    public static string MeterName
    {
        get
        {
            HeapMeter.Create();
            return HeapMeter.Name;
        }
    }

    /// <summary>The name of the <see cref="EventSource"/>, "Freehold-Heap". It exists in a program with <c>EventSourceSupport=true</c>.</summary>
    public static string EventSourceName => HeapEventSource.SourceName;
}
