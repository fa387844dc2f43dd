namespace Freehold.Soak;

/// <summary>What the process holds at one moment, and how long its threads were held up since the last one.</summary>
internal readonly record struct Sample(double Seconds, double Gigabytes, double ProportionalMegabytes, int Mappings, double PageTableMegabytes, double TableMegabytes, double StallMilliseconds)
{
    public const string Columns = "seconds gigabytes pss_mb mappings page_tables_mb tables_mb stall_ms";

    public override string ToString() => string.Create(
        System.Globalization.CultureInfo.InvariantCulture,
        $"{Seconds:0.0} {Gigabytes:0.00} {ProportionalMegabytes:0.0} {Mappings} {PageTableMegabytes:0.00} {TableMegabytes:0.00} {StallMilliseconds:0.000}");
}
