using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using Microsoft.Build.Framework;

namespace Freehold.Tasks;

/// <summary>
/// Writes the linker's script of exported symbols: those that ilc wants, and functions of the C library that the program has in place of it. Shared libraries, the C library
/// among them, then call the program's: what one of them allocates, the program can free.
/// </summary>
/// <remarks>
/// Without the version name that ilc gives. The dynamic linker binds <c>malloc@GLIBC_2.2.5</c> to a symbol without a version, but not to one of another version.
/// </remarks>
public sealed class WriteExports : FreeholdTask
{
    /// <summary>The script that ilc has written.</summary>
    [Required]
    public string Script { get; set; } = "";

    /// <summary>A file with the names of the functions, one in a line.</summary>
    [Required]
    public string Symbols { get; set; } = "";

    /// <summary>Where the new script goes. It is not touched when it is the same.</summary>
    [Required]
    public string Output { get; set; } = "";

    /// <summary>The text of the new script.</summary>
    /// <param name="script">Lines of ilc's.</param>
    /// <param name="symbols">The names to be added.</param>
    internal static string Merge(IEnumerable<string> script, IEnumerable<string> symbols)
    {
        IEnumerable<string> wanted = script.Select(line => line.Trim())
            .Where(line => line.EndsWith(';') && !line.StartsWith("local:", StringComparison.Ordinal) && !line.StartsWith('}'))
            .Select(line => line[(line.LastIndexOf(' ') + 1)..^1]);
        IEnumerable<string> all = wanted.Concat(symbols.Select(symbol => symbol.Trim())).Where(symbol => symbol.Length != 0)
            .Distinct(StringComparer.Ordinal).Order(StringComparer.Ordinal);
        return "{\n  global:\n" + string.Concat(all.Select(symbol => $"    {symbol};\n")) + "  local: *;\n};\n";
    }

    /// <inheritdoc />
    protected override void Run()
    {
        string text = Merge(File.ReadLines(Script), File.ReadLines(Symbols));
        if (!File.Exists(Output) || File.ReadAllText(Output) != text)
        {
            File.WriteAllText(Output, text);
        }
    }
}
