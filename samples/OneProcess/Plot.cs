using System.Globalization;
using System.Text;

/// <summary>The three heaps above each other, over time: an SVG.</summary>
internal static class Plot
{
    private const double Width = 1000, Height = 420, Left = 60, Top = 30, Bottom = 50, Right = 150;
    private static readonly (string Name, string Colour, Func<Timeline.Sample, long> Value)[] s_heaps =
    [
        ("managed heap", "#4878a8", one => one.Managed),
        ("heap of handles", "#e0a040", one => one.Handles),
        ("meshing malloc", "#70a860", one => one.Malloc),
    ];

    /// <summary>The picture as text. The limit is a line, if there is one.</summary>
    public static string Draw(IReadOnlyList<Timeline.Sample> samples, IReadOnlyList<(double Seconds, string Text)> seasons, long limit)
    {
        double seconds = Math.Max(samples[^1].Seconds, 0.1), most = 1.1 * Math.Max(limit, samples.Max(one => Math.Max(one.Pss, s_heaps.Sum(heap => heap.Value(one)))));
        double X(double at) => Left + at / seconds * (Width - Left - Right);
        double Y(double bytes) => Height - Bottom - bytes / most * (Height - Top - Bottom);
        var text = new StringBuilder();
        Add($"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{Width}\" height=\"{Height}\" font-family=\"sans-serif\" font-size=\"12\">");
        Add($"<rect width=\"{Width}\" height=\"{Height}\" fill=\"white\"/>");
        for (int i = s_heaps.Length - 1; i >= 0; i--)
        {
            // From above: each covers the ones below it.
            long Sum(Timeline.Sample one) => s_heaps.Take(i + 1).Sum(heap => heap.Value(one));
            string points = string.Join(' ', samples.Select(one => Point(X(one.Seconds), Y(Sum(one)))));
            Add($"<polygon fill=\"{s_heaps[i].Colour}\" points=\"{Point(X(samples[0].Seconds), Y(0))} {points} {Point(X(samples[^1].Seconds), Y(0))}\"/>");
            Add($"<rect x=\"{Width - Right + 12}\" y=\"{Top + 20 * (s_heaps.Length - i)}\" width=\"12\" height=\"12\" fill=\"{s_heaps[i].Colour}\"/>");
            Add($"<text x=\"{Width - Right + 30}\" y=\"{Top + 20 * (s_heaps.Length - i) + 11}\">{s_heaps[i].Name}</text>");
        }

        Add($"<polyline fill=\"none\" stroke=\"black\" points=\"{string.Join(' ', samples.Select(one => Point(X(one.Seconds), Y(one.Pss))))}\"/>");
        Add($"<text x=\"{Width - Right + 12}\" y=\"{Top + 11}\">— PSS of the process</text>");
        if (limit > 0)
        {
            Add($"<line x1=\"{Left}\" x2=\"{Width - Right}\" y1=\"{Y(limit):f1}\" y2=\"{Y(limit):f1}\" stroke=\"#c03030\" stroke-dasharray=\"6 4\"/>");
            Add($"<text x=\"{Width - Right + 4}\" y=\"{Y(limit) + 4:f1}\" fill=\"#c03030\">limit {limit >> 20} MB</text>");
        }

        for (long at = 0; at < most; at += 50_000_000) Add($"<text x=\"{Left - 6}\" y=\"{Y(at) + 4:f1}\" text-anchor=\"end\">{at / 1_000_000}</text>");
        foreach ((double at, string season) in seasons)
        {
            Add($"<line x1=\"{X(at):f1}\" x2=\"{X(at):f1}\" y1=\"{Top}\" y2=\"{Height - Bottom}\" stroke=\"#a0a0a0\" stroke-dasharray=\"2 3\"/>");
            Add($"<text x=\"{X(at) + 3:f1}\" y=\"{Height - Bottom + 16}\">{season}</text>");
        }

        Add($"<text x=\"{Width - Right}\" y=\"{Height - 10}\" text-anchor=\"end\">{seconds:f0} s</text>");
        Add($"<text x=\"{Left - 6}\" y=\"{Top - 10}\" text-anchor=\"end\">MB</text>");
        Add($"</svg>");
        return text.ToString();

        void Add(FormattableString line) => text.Append(line.ToString(CultureInfo.InvariantCulture)).Append('\n');
    }

    private static string Point(double x, double y) => string.Create(CultureInfo.InvariantCulture, $"{x:f1},{y:f1}");
}
