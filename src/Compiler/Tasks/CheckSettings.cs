using System;
using System.Globalization;
using Microsoft.Build.Framework;

namespace Freehold.Tasks;

/// <summary>Refuses malformed values of the package's properties at build time, where the project file is at hand.</summary>
public sealed class CheckSettings : FreeholdTask
{
    /// <summary>Value of FreeholdEnabled.</summary>
    public string Enabled { get; set; } = "";

    /// <summary>The knobs: identity is the runtime's name; metadata Property, Value and Kind (boolean, size, count, or the words allowed, with bars between them).</summary>
    [Required]
    public ITaskItem[] Settings { get; set; } = [];

    /// <inheritdoc />
    protected override void Run()
    {
        Check("FreeholdEnabled", Enabled, "boolean");
        foreach (ITaskItem setting in Settings)
        {
            Check(setting.GetMetadata("Property"), setting.GetMetadata("Value"), setting.GetMetadata("Kind"));
        }
    }

    private static void Check(string property, string value, string kind)
    {
        if (value.Length == 0)
        {
            return;
        }

        (bool valid, string wanted) = kind switch
        {
            "boolean" => (value is "true" or "false", "true or false"),
            "size" => (IsSize(value), "a number of bytes, with K, M, G or T after it for its multiples, such as 512M"),
            "size|none" => (value == "none" || IsSize(value), "a number of bytes, with K, M, G or T after it for its multiples, such as 512M, or none"),
            "count" => (IsCount(value), "a number above zero"),
            _ => (Array.IndexOf(kind.Split('|'), value) >= 0, kind.Replace("|", ", ", StringComparison.Ordinal)),
        };
        if (!valid)
        {
            throw new FreeholdException("FH0009", $"The property {property} is '{value}', which is not {wanted}. Correct it in the project file or on the command line.");
        }
    }

    private static bool IsSize(string value)
    {
        // As parse_size in src/Allocator/core/knobs.cpp reads it.
        int unit = "KMGT".IndexOf(char.ToUpperInvariant(value[^1]), StringComparison.Ordinal);
        int shift = 10 * (unit + 1);
        return ulong.TryParse(value[..^(unit < 0 ? 0 : 1)], NumberStyles.None, CultureInfo.InvariantCulture, out ulong number)
            && number != 0 && number <= ulong.MaxValue >> shift;
    }

    private static bool IsCount(string value) => ulong.TryParse(value, NumberStyles.None, CultureInfo.InvariantCulture, out ulong number) && number != 0;
}
