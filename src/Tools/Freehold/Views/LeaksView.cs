using System.Globalization;
using System.Text.Json;

namespace Freehold.Tool.Views;

/// <summary>Leaks as text, as the report at exit has them.</summary>
internal static class LeaksView
{
    private const int MostSites = 5;

    public static void Write(JsonElement answer, int top, TextWriter output)
    {
        long count = Answer.Number(answer, "count");
        bool reports = answer.TryGetProperty("reports", out JsonElement mode) && mode.ValueKind == JsonValueKind.True;
        if (count == 0)
        {
            output.WriteLine("No leaks: what nothing reaches was deleted.");
            WriteHint(reports, knowsPlaces: true, output);
            return;
        }

        output.WriteLine(Invariant($"{Quantity.Bytes(Answer.Number(answer, "bytes"))} in {count:N0} objects that nothing reaches and nobody deleted:"));
        bool knowsPlaces = false;
        JsonElement[] leaks = [.. Answer.List(answer, "leaks")];
        foreach (JsonElement leak in leaks.Take(top))
        {
            output.WriteLine();
            output.WriteLine(Invariant($"{Quantity.Bytes(Answer.Number(leak, "bytes")),12}  {Answer.Number(leak, "count"):N0} x {Answer.Text(leak, "type")}"));
            JsonElement[] sites = [.. Answer.List(leak, "sites")];
            knowsPlaces |= sites.Length != 0;
            foreach (JsonElement site in sites.Take(MostSites))
            {
                long samples = Answer.Number(site, "samples");
                output.WriteLine(Invariant($"{"",14}{(samples == 0 ? "" : "about ")}{Quantity.Bytes(Answer.Number(site, "bytes"))} in {Answer.Number(site, "count"):N0} objects, allocated"));
                foreach (string line in Answer.Text(site, "stack").Split('\n'))
                {
                    output.WriteLine("              " + line.TrimEnd());
                }
            }

            if (sites.Length > MostSites)
            {
                output.WriteLine(Invariant($"{"",14}and at {sites.Length - MostSites} other places"));
            }
        }

        if (leaks.Length > top)
        {
            output.WriteLine();
            output.WriteLine(Invariant($"{"",14}and {leaks.Length - top} other types (--top)"));
        }

        WriteHint(reports, knowsPlaces, output);
    }

    private static void WriteHint(bool reports, bool knowsPlaces, TextWriter output)
    {
        if (!reports)
        {
            output.WriteLine();
            output.WriteLine(knowsPlaces ? "The heap deletes such objects by itself. With FREEHOLD_RECLAIM=report the program keeps them until you have asked."
                : "Where they were allocated is not known, and earlier ones may have been deleted by the heap. Start the program with FREEHOLD_RECLAIM=report for both.");
        }
    }

    private static string Invariant(FormattableString text) => text.ToString(CultureInfo.InvariantCulture);
}
