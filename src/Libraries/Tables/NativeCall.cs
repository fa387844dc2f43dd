using System;
using System.Collections.Generic;
using System.Text.RegularExpressions;

namespace Freehold.Tables;

/// <summary>One row of the table of native entry points: FREEHOLD_CALL(result, name, parameters, declaration in C#, description).</summary>
internal sealed class NativeCall
{
    private static readonly Regex s_row = new(
        @"^FREEHOLD_(BLOCKING_)?CALL\(\s*[\w*]+\s*,\s*(freehold_\w+)\s*,\s*\([^)]*\)\s*,\s*""([^""]*)""\s*,((?:\s*""(?:[^""\\]|\\.)*"")+)\s*\)", RegexOptions.Multiline);

    private NativeCall(string symbol, string declaration, bool blocks)
    {
        Symbol = symbol;
        Declaration = declaration;
        Blocks = blocks;
    }

    internal string Symbol { get; }

    /// <summary>Result, name and parameters in C#.</summary>
    internal string Declaration { get; }

    /// <summary>Whether it is an ordinary P/Invoke, with a transition.</summary>
    internal bool Blocks { get; }

    /// <summary>The rows that System.NativeHeap declares, in their order.</summary>
    /// <exception cref="FormatException">A row is malformed.</exception>
    internal static List<NativeCall> Parse(string text)
    {
        var calls = new List<NativeCall>();
        MatchCollection matches = s_row.Matches(text);
        foreach (Match match in matches)
        {
            if (match.Groups[3].Length != 0)
            {
                calls.Add(new NativeCall(match.Groups[2].Value, match.Groups[3].Value, match.Groups[1].Length != 0));
            }
        }

        int rows = Regex.Matches(text, @"^FREEHOLD_(BLOCKING_)?CALL\(", RegexOptions.Multiline).Count;
        return rows == matches.Count ? calls : throw new FormatException($"{rows - matches.Count} of {rows} rows do not have the form FREEHOLD_CALL(result, name, (parameters), \"C#\", \"description\")");
    }
}
