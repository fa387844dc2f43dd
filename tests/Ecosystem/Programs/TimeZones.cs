using NodaTime;
using NodaTime.Text;

namespace Freehold.Differential.Programs;

/// <summary>NodaTime: transitions of time zones, and dates written and read.</summary>
internal static class TimeZones
{
    public static void Run()
    {
        IDateTimeZoneProvider provider = DateTimeZoneProviders.Tzdb;
        var sum = new Checksum();
        foreach (string id in provider.Ids.Take(500))
        {
            foreach (var interval in provider[id].GetZoneIntervals(Instant.FromUtc(1990, 1, 1, 0, 0), Instant.FromUtc(2020, 1, 1, 0, 0)))
                sum.Add(interval.ToString());
        }

        LocalDateTimePattern pattern = LocalDateTimePattern.ExtendedIso;
        int same = 0;
        for (int i = 0; i < 50_000; i++)
        {
            string text = pattern.Format(new LocalDateTime(2000, 1, 1, 0, 0).PlusMinutes(i * 37));
            same += pattern.Format(pattern.Parse(text).Value) == text ? 1 : 0;
        }

        Console.WriteLine($"{sum} {same}");
    }
}
