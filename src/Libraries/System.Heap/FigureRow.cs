namespace System;

/// <summary>A row of a table of figures (src/Allocator/diag/figures.inc and its kind).</summary>
internal readonly struct FigureRow(string name, string metric, FigureUnit unit, bool grows)
{
    /// <summary>The property of the statistics; empty if the value is none.</summary>
    internal readonly string Name = name;

    /// <summary>The name of its instrument.</summary>
    internal readonly string Metric = metric;

    /// <summary>What the number counts.</summary>
    internal readonly FigureUnit Unit = unit;

    /// <summary>Whether it only grows while the process runs.</summary>
    internal readonly bool Grows = grows;
}

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
