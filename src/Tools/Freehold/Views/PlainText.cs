using System.Globalization;
using System.Text;

namespace Freehold.Tool.Views;

/// <summary>Text of another process for a terminal: names of its types, paths and reasons are its choice, and a terminal obeys what stands between them.</summary>
internal static class PlainText
{
    /// <summary>
    /// The same text, but that what no reader can see is written as <c>\u001b</c>: control characters, what changes the direction of text, ends of lines other than <c>\n</c>, halves of pairs.
    /// </summary>
    public static string Of(string text)
    {
        StringBuilder? shown = null;
        for (int i = 0; i < text.Length;)
        {
            bool whole = Rune.TryGetRuneAt(text, i, out Rune rune);
            int length = whole ? rune.Utf16SequenceLength : 1;
            if (whole && (rune.Value == '\n' || !IsHidden(Rune.GetUnicodeCategory(rune))))
            {
                shown?.Append(text, i, length);
            }
            else
            {
                shown ??= new StringBuilder(text, 0, i, text.Length + 16);
                foreach (char part in text.AsSpan(i, length))
                {
                    shown.Append(CultureInfo.InvariantCulture, $"\\u{(int)part:x4}");
                }
            }

            i += length;
        }

        return shown?.ToString() ?? text;
    }

    private static bool IsHidden(UnicodeCategory category) => category is
        UnicodeCategory.Control or UnicodeCategory.Format or UnicodeCategory.Surrogate or UnicodeCategory.LineSeparator or UnicodeCategory.ParagraphSeparator;
}
