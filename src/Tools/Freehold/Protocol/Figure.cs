using System.Text.Json;

namespace Freehold.Tool.Protocol;

/// <summary>A figure of the heap, as the process says it.</summary>
/// <param name="Name">As in docs/statistics.md.</param>
/// <param name="Unit">"bytes", "nanoseconds", "flag" or "count".</param>
/// <param name="IsTotal">Whether it only grows.</param>
/// <param name="Value">Now.</param>
internal sealed record Figure(string Name, string Unit, bool IsTotal, long Value)
{
    /// <exception cref="ToolException">The answer has no figures.</exception>
    public static IReadOnlyList<Figure> ReadAll(JsonElement answer)
    {
        try
        {
            return [.. answer.GetProperty("figures").EnumerateArray().Select(figure => new Figure(
                Views.Answer.Text(figure, "name"), Views.Answer.Text(figure, "unit"), figure.GetProperty("total").GetBoolean(), figure.GetProperty("value").GetInt64()))];
        }
        catch (Exception exception) when (exception is KeyNotFoundException or InvalidOperationException or FormatException)
        {
            throw new ToolException($"the answer of the process cannot be read: {exception.Message}");
        }
    }
}
