using System.Text.Json;

namespace Freehold.Tool.Views;

/// <summary>Reads an answer of a process.</summary>
internal static class Answer
{
    /// <exception cref="ToolException">It has no such number.</exception>
    public static long Number(JsonElement answer, string name) =>
        answer.ValueKind == JsonValueKind.Object && answer.TryGetProperty(name, out JsonElement value) && value.TryGetInt64(out long number) ? number : throw Missing(name);

    /// <exception cref="ToolException">It has no such text.</exception>
    public static string Text(JsonElement answer, string name) =>
        answer.ValueKind == JsonValueKind.Object && answer.TryGetProperty(name, out JsonElement value) && value.ValueKind == JsonValueKind.String ? value.GetString()! : throw Missing(name);

    /// <exception cref="ToolException">It has no such list.</exception>
    public static IEnumerable<JsonElement> List(JsonElement answer, string name) =>
        answer.ValueKind == JsonValueKind.Object && answer.TryGetProperty(name, out JsonElement value) && value.ValueKind == JsonValueKind.Array ? value.EnumerateArray() : throw Missing(name);

    private static ToolException Missing(string name) => new($"the answer of the process has no '{name}'.");
}
