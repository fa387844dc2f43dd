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
        if (!text.Any(IsHidden))
        {
            return text;
        }

        var shown = new StringBuilder();
        for (int i = 0; i < text.Length; i++)
        {
            if (char.IsSurrogatePair(text, i))
            {
                shown.Append(text, i++, 2);
            }
            else if (IsHidden(text[i]))
            {
                shown.Append(CultureInfo.InvariantCulture, $"\\u{(int)text[i]:x4}");
            }
            else
            {
                shown.Append(text[i]);
            }
        }

        return shown.ToString();
    }

    private static bool IsHidden(char character) => character != '\n' && char.GetUnicodeCategory(character) is
        UnicodeCategory.Control or UnicodeCategory.Format or UnicodeCategory.Surrogate or UnicodeCategory.LineSeparator or UnicodeCategory.ParagraphSeparator;
}
