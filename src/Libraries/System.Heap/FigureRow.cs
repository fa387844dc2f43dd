namespace System;

/// <summary>A row of a table of figures (src/Allocator/diag/figures.inc and its kind).</summary>
/// <param name="Name">The property of the statistics; empty if the value is none.</param>
/// <param name="Metric">The name of its instrument.</param>
/// <param name="Unit">What the number counts.</param>
/// <param name="Grows">Whether it only grows while the process runs.</param>
internal readonly record struct FigureRow(string Name, string Metric, FigureUnit Unit, bool Grows);

/// <summary>What the number of a figure counts.</summary>
internal enum FigureUnit
{
    /// <summary>Things.</summary>
    Count,

    /// <summary>Bytes.</summary>
    Bytes,

    /// <summary>0 or 1.</summary>
    Flag,

    /// <summary>Nanoseconds.</summary>
    Nanoseconds,
}
