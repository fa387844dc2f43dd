using System;
using System.Collections.Generic;
using System.Text;
using System.Text.RegularExpressions;

namespace Freehold.Tables;

/// <summary>One row of a table of figures: FREEHOLD_FIGURE(name, unit, description).</summary>
internal sealed class Figure
{
    // A description is one or more C string literals.
    private static readonly Regex s_row = new(@"^FREEHOLD_FIGURE\(\s*(\w+)\s*,\s*(\w+)\s*,((?:\s*""(?:[^""\\]|\\.)*"")+)\s*\)", RegexOptions.Multiline);
    private static readonly Regex s_literal = new(@"""((?:[^""\\]|\\.)*)""");

    private const string Total = "Total";

    private Figure(string name, string unit, string description)
    {
        Name = name;
        Grows = unit.StartsWith(Total, StringComparison.Ordinal);
        Unit = Grows ? unit.Substring(Total.Length) : unit;
        Description = description;
    }

    internal string Name { get; }

    /// <summary>Count, Bytes, Flag, Nanoseconds or Raw.</summary>
    internal string Unit { get; }

    /// <summary>Whether it only grows while the process runs.</summary>
    internal bool Grows { get; }

    internal string Description { get; }

    /// <summary>The rows of a table, in their order.</summary>
    /// <exception cref="FormatException">A row is malformed, or has an unknown unit.</exception>
    internal static List<Figure> Parse(string text)
    {
        var figures = new List<Figure>();
        foreach (Match match in s_row.Matches(text))
        {
            string unit = match.Groups[2].Value;
            if (Array.IndexOf(["Count", "Bytes", "Flag", "Nanoseconds", "Raw", "TotalCount", "TotalBytes", "TotalNanoseconds"], unit) < 0)
            {
                throw new FormatException($"{match.Groups[1].Value} has the unit '{unit}'; known are Count, Bytes and Nanoseconds, with Total before them for what only grows, Flag and Raw");
            }

            var description = new StringBuilder();
            foreach (Match literal in s_literal.Matches(match.Groups[3].Value))
            {
                description.Append(literal.Groups[1].Value);
            }

            figures.Add(new Figure(match.Groups[1].Value, unit, description.ToString()));
        }

        int rows = Regex.Matches(text, @"^FREEHOLD_FIGURE\(", RegexOptions.Multiline).Count;
        return rows == figures.Count ? figures : throw new FormatException($"{rows - figures.Count} of {rows} rows do not have the form FREEHOLD_FIGURE(name, unit, \"description\")");
    }
}
