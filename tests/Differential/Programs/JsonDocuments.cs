using System.Text;
using System.Text.Json;
using System.Text.Json.Nodes;

namespace Freehold.Differential.Programs;

/// <summary>The JSON reader, writer, document and node trees.</summary>
internal static partial class JsonDocuments
{
    public static void Run()
    {
        using var stream = new MemoryStream();
        using (var writer = new Utf8JsonWriter(stream, new JsonWriterOptions { Indented = false }))
        {
            writer.WriteStartArray();
            for (int i = 0; i < 3_000; i++)
            {
                writer.WriteStartObject();
                writer.WriteNumber("id", i);
                writer.WriteString("name", "n\u00fc" + i);
                writer.WriteBoolean("odd", i % 2 == 1);
                writer.WriteStartArray("values");
                for (int j = 0; j < i % 5; j++)
                    writer.WriteNumberValue(i / (j + 1.0));
                writer.WriteEndArray();
                writer.WriteEndObject();
            }
            writer.WriteEndArray();
        }
        byte[] bytes = stream.ToArray();
        int tokens = 0;
        long text = 0;
        var reader = new Utf8JsonReader(bytes);
        while (reader.Read())
        {
            tokens++;
            if (reader.TokenType == JsonTokenType.String)
                text += reader.GetString()!.Length;
        }
        Console.WriteLine($"{bytes.Length} {tokens} {text}");
        using JsonDocument document = JsonDocument.Parse(bytes);
        double total = 0;
        foreach (JsonElement element in document.RootElement.EnumerateArray())
        {
            foreach (JsonElement value in element.GetProperty("values").EnumerateArray())
                total += value.GetDouble();
        }
        Console.WriteLine(total.ToString("R"));
        JsonArray array = JsonNode.Parse(bytes)!.AsArray();
        for (int i = array.Count - 1; i >= 0; i -= 2)
            array.RemoveAt(i);
        foreach (JsonNode? node in array)
            node!["values"] = new JsonObject { ["count"] = node["values"]!.AsArray().Count, ["none"] = null };
        string changed = array.ToJsonString();
        var sum = new Checksum();
        sum.Add(changed);
        Console.WriteLine($"{changed.Length} {sum} {Encoding.UTF8.GetByteCount(changed)}");
        Console.WriteLine(array[7]!.ToJsonString());
    }
}
