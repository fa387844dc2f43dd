using System.Text.Json;
using System.Text.Json.Serialization;

namespace Freehold.Differential.Programs;

/// <summary>System.Text.Json by source-generated metadata, there and back.</summary>
internal static partial class JsonRoundTrip
{
    internal sealed class Invoice
    {
        public int Number { get; set; }

        public string Customer { get; set; } = "";

        public DateTime Issued { get; set; }

        public decimal Total { get; set; }

        public List<Line> Lines { get; set; } = [];

        public Dictionary<string, double>? Tags { get; set; }

        public Kind Kind { get; set; }

        public Invoice? Previous { get; set; }
    }

    internal sealed record Line(string Product, int Quantity, decimal Price, bool? Taxed);

    internal enum Kind
    {
        Draft,
        Sent,
        Paid,
    }

    [JsonSourceGenerationOptions(WriteIndented = true, PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase, UseStringEnumConverter = true, DefaultIgnoreCondition = JsonIgnoreCondition.WhenWritingNull)]
    [JsonSerializable(typeof(List<Invoice>))]
    internal sealed partial class Context : JsonSerializerContext;

    public static void Run()
    {
        var random = new Random(7);
        var invoices = new List<Invoice>();
        for (int i = 0; i < 400; i++)
        {
            invoices.Add(new Invoice
            {
                Number = i,
                Customer = "Kunde \"" + i + "\" \u00e9\u4e2d\U0001F600",
                Issued = new DateTime(2024, 1, 1, 0, 0, 0, DateTimeKind.Utc).AddMinutes(random.Next(1_000_000)),
                Total = random.Next() / 100m,
                Kind = (Kind)(i % 3),
                Lines = [.. Enumerable.Range(0, random.Next(6)).Select(n => new Line("p" + n, random.Next(9), random.Next(999) / 10m, n % 3 == 0 ? null : n % 2 == 0))],
                Tags = i % 4 == 0 ? new() { ["weight"] = random.NextDouble(), ["size"] = i } : null,
                Previous = i > 0 && i % 50 == 0 ? invoices[i - 1] : null,
            });
        }
        string json = JsonSerializer.Serialize(invoices, Context.Default.ListInvoice);
        var sum = new Checksum();
        sum.Add(json);
        Console.WriteLine($"{json.Length} {sum}");
        for (int round = 0; round < 5; round++)
        {
            List<Invoice> back = JsonSerializer.Deserialize(json, Context.Default.ListInvoice)!;
            string again = JsonSerializer.Serialize(back, Context.Default.ListInvoice);
            if (again != json)
                Console.WriteLine("changed in round " + round);
        }
        Console.WriteLine(json[..600]);
        try
        {
            JsonSerializer.Deserialize("[{\"number\": \"x\"}]", Context.Default.ListInvoice);
        }
        catch (JsonException exception)
        {
            Console.WriteLine(exception.Path + " " + exception.LineNumber);
        }
    }
}
