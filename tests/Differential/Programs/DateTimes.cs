using System.Globalization;

namespace Freehold.Differential.Programs;

/// <summary>Dates, times, spans, offsets, calendars and their text.</summary>
internal static partial class DateTimes
{
    public static void Run()
    {
        var start = new DateTime(1999, 12, 31, 23, 59, 59, DateTimeKind.Utc);
        var sum = new Checksum();
        for (int i = 0; i < 15_000; i++)
        {
            DateTime at = start.AddHours(i * 37.5);
            string text = at.ToString("o", CultureInfo.InvariantCulture);
            if (DateTime.Parse(text, CultureInfo.InvariantCulture, DateTimeStyles.RoundtripKind) != at)
                Console.WriteLine("lost " + text);
            sum.Add(text);
            sum.Add(at.DayOfYear * 7 + (int)at.DayOfWeek + ISOWeek.GetWeekOfYear(at));
            sum.Add((at - start).ToString("c"));
        }
        Console.WriteLine(sum);
        var offset = new DateTimeOffset(2024, 2, 29, 12, 30, 0, TimeSpan.FromHours(5.5));
        Console.WriteLine(offset.ToString("R") + " " + offset.ToUniversalTime().ToString("u") + " " + offset.ToUnixTimeSeconds() + " " + offset.AddYears(1).ToString("yyyy-MM-dd'T'HH:mm:sszzz"));
        Console.WriteLine(DateOnly.Parse("2024-03-31").AddMonths(-1) + " " + TimeOnly.FromTimeSpan(TimeSpan.FromMinutes(125)).ToString("HH:mm") + " " + new TimeSpan(1, 2, 3, 4, 5).ToString(@"d\.hh\:mm\:ss\.fff"));
        Console.WriteLine(DateTime.TryParseExact("31/02/2024", "dd/MM/yyyy", CultureInfo.InvariantCulture, DateTimeStyles.None, out _) + " " + DateTime.IsLeapYear(1900) + " " + DateTime.DaysInMonth(2000, 2));
        Console.WriteLine(new HebrewCalendar().GetYear(start) + " " + new JulianCalendar().GetDayOfMonth(start) + " " + new HijriCalendar().GetYear(start));
        Console.WriteLine(TimeZoneInfo.ConvertTime(start, TimeZoneInfo.Utc, TimeZoneInfo.CreateCustomTimeZone("x", TimeSpan.FromHours(-3), "x", "x")).ToString("s"));
        foreach (string format in new[] { "d", "D", "f", "g", "m", "t", "y", "ddd d MMM yyyy h:mm tt" })
            Console.Write(start.ToString(format, CultureInfo.InvariantCulture) + " | ");
        Console.WriteLine();
    }
}
