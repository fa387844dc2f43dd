using System.Globalization;

namespace Freehold.Tool.Views;

/// <summary>Numbers as people read them.</summary>
internal static class Quantity
{
    public static string Of(double value, string unit) => unit switch
    {
        "bytes" => Bytes(value),
        "nanoseconds" => Time(value),
        "flag" => value != 0 ? "yes" : "no",
        _ => Format("{0:N0}", value),
    };

    public static string Bytes(double bytes) => Math.Abs(bytes) switch
    {
        < 10_000 => Format("{0:0} B", bytes),
        < 10_000_000 => Format("{0:0.0} KB", bytes / 1024),
        < 10_000_000_000 => Format("{0:0.0} MB", bytes / 1048576),
        _ => Format("{0:0.0} GB", bytes / 1073741824),
    };

    private static string Time(double nanoseconds) => nanoseconds switch
    {
        < 10_000 => Format("{0:0} ns", nanoseconds),
        < 10_000_000 => Format("{0:0.0} us", nanoseconds / 1e3),
        < 10_000_000_000 => Format("{0:0.0} ms", nanoseconds / 1e6),
        _ => Format("{0:0.0} s", nanoseconds / 1e9),
    };

    private static string Format(string format, double value) => string.Format(CultureInfo.InvariantCulture, format, value);
}
