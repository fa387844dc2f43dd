using System.Globalization;

namespace Freehold.Differential.Programs;

/// <summary>Composite and custom formats, in the invariant culture.</summary>
internal static partial class Formatting
{
    private readonly struct Temperature(double degrees) : ISpanFormattable
    {
        public string ToString(string? format, IFormatProvider? provider) => string.Create(provider, $"{this}");

        public bool TryFormat(Span<char> destination, out int written, ReadOnlySpan<char> format, IFormatProvider? provider) =>
            destination.TryWrite(provider, $"{degrees:F1}{(format.IsEmpty ? "C" : format.ToString())}", out written);
    }

    private sealed class Reverser : IFormatProvider, ICustomFormatter
    {
        public object? GetFormat(Type? type) => type == typeof(ICustomFormatter) ? this : null;

        public string Format(string? format, object? argument, IFormatProvider? provider)
        {
            string text = argument is IFormattable formattable ? formattable.ToString(format, CultureInfo.InvariantCulture) : argument?.ToString() ?? "";
            return new string([.. text.Reverse()]);
        }
    }

    public static void Run()
    {
        double[] numbers = [0, -1.5, 1234567.891, 1e-10, 6.02e23, double.NaN, double.NegativeInfinity];
        foreach (string format in new[] { "G", "F2", "E3", "N1", "P1", "C", "R", "#,##0.00;(#,##0.00);zero", "000.#" })
            Console.WriteLine(format + ": " + string.Join(' ', numbers.Select(number => number.ToString(format, CultureInfo.InvariantCulture))));
        foreach (string format in new[] { "D8", "X", "x4", "N0", "B", "E2" })
            Console.WriteLine(format + ": " + string.Join(' ', new[] { 0, 42, 65_535 }.Select(number => number.ToString(format))));
        Console.WriteLine(string.Format(new Reverser(), "{0:F2} {1} {2:X}", 12.345, "text", 255));
        Console.WriteLine($"{new Temperature(21.55)} {new Temperature(-4):F} {DayOfWeek.Monday:G}/{DayOfWeek.Monday:D} {FileAttributes.Hidden | FileAttributes.System}");
        var sum = new Checksum();
        Span<char> buffer = stackalloc char[64];
        for (int i = 0; i < 30_000; i++)
        {
            (i * 1.7).TryFormat(buffer, out int written, "F3", CultureInfo.InvariantCulture);
            sum.Add(buffer[written - 1] + written);
            sum.Add(string.Format("{0:D5}-{1,8}-{2:yyyyMMdd}", i, i * 3, DateTime.UnixEpoch.AddDays(i)));
        }
        Console.WriteLine(sum);
        Console.WriteLine(CultureInfo.InvariantCulture.TextInfo.ToTitleCase("war and peace") + " " + CultureInfo.CurrentCulture.Name.Length + " " + string.Compare("a", "B", CultureInfo.InvariantCulture, CompareOptions.OrdinalIgnoreCase).CompareTo(0));
        try
        {
            _ = string.Format("{0} {3}", 1, 2);
        }
        catch (FormatException exception)
        {
            Console.WriteLine(exception.Message);
        }
    }
}
