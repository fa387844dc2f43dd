using System.Text.Json;

namespace Freehold.Tool.Views;

/// <summary>Reads an answer of a process.</summary>
internal static class Answer
{
    /// <exception cref="ToolException">It has no such number.</exception>
    public static long Number(JsonElement answer, string name) =>
        answer.ValueKind == JsonValueKind.Object && answer.TryGetProperty(name, out JsonElement value) && value.ValueKind == JsonValueKind.Number && value.TryGetInt64(out long number) ? number : throw Missing(name);

    /// <summary>For a terminal: <see cref="PlainText"/>.</summary>
    /// <exception cref="ToolException">It has no such text.</exception>
    public static string Text(JsonElement answer, string name)
    {
        try
        {
            return answer.ValueKind == JsonValueKind.Object && answer.TryGetProperty(name, out JsonElement value) && value.ValueKind == JsonValueKind.String ? PlainText.Of(value.GetString()!) : throw Missing(name);
        }
        catch (InvalidOperationException)
        {
            // Half of a pair of characters.
            throw Missing(name);
        }
    }

    /// <exception cref="ToolException">It has no such list.</exception>
    public static IEnumerable<JsonElement> List(JsonElement answer, string name) =>
        answer.ValueKind == JsonValueKind.Object && answer.TryGetProperty(name, out JsonElement value) && value.ValueKind == JsonValueKind.Array ? value.EnumerateArray() : throw Missing(name);

    private static ToolException Missing(string name) => new($"the answer of the process has no '{name}'.");
}
