namespace Freehold.Benchmarks.CompilerLike;

/// <summary>Cuts C# text into tokens. Directives are passed over: both sides of an #if are read.</summary>
internal sealed class Lexer(string text, Names names)
{
    private static readonly string[] s_operators =
    [
        "??=", "<<=", "=>", "==", "!=", "<=", ">=", "&&", "||", "??", "?.", "++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<", "->", "::", "..",
    ];

    private int _at;

    public List<Token> Run()
    {
        var tokens = new List<Token>();
        while (true)
        {
            var before = _at;
            SkipTrivia();
            var start = _at;
            var glued = start == before && start != 0;
            if (_at >= text.Length)
            {
                tokens.Add(new Token(TokenKind.End, "", start, glued));
                return tokens;
            }

            var kind = Next();
            var word = text.AsSpan(start, _at - start);
            tokens.Add(new Token(kind, names.Of(kind == TokenKind.Name && word[0] == '@' ? word[1..] : word), start, glued));
        }
    }

    private char At(int offset) => _at + offset < text.Length ? text[_at + offset] : '\0';

    private bool Looking(string at) => string.CompareOrdinal(text, _at, at, 0, at.Length) == 0;

    private void SkipTrivia()
    {
        while (_at < text.Length)
        {
            if (char.IsWhiteSpace(text[_at]) || text[_at] == '\uFEFF')
            {
                _at++;
            }
            else if (Looking("//") || (text[_at] == '#' && IsFirstOfLine()))
            {
                SkipTo("\n");
            }
            else if (Looking("/*"))
            {
                SkipTo("*/");
            }
            else
            {
                return;
            }
        }
    }

    private bool IsFirstOfLine()
    {
        for (var i = _at - 1; i >= 0 && text[i] != '\n'; i--)
        {
            if (!char.IsWhiteSpace(text[i]))
            {
                return false;
            }
        }

        return true;
    }

    private void SkipTo(string end)
    {
        var found = text.IndexOf(end, _at, StringComparison.Ordinal);
        _at = found < 0 ? text.Length : found + end.Length;
    }

    private TokenKind Next()
    {
        var c = text[_at];
        if (char.IsLetter(c) || c == '_' || (c == '@' && (char.IsLetter(At(1)) || At(1) == '_')))
        {
            do
            {
                _at++;
            }
            while (char.IsLetterOrDigit(At(0)) || At(0) == '_');
            return TokenKind.Name;
        }

        if (char.IsAsciiDigit(c) || (c == '.' && char.IsAsciiDigit(At(1))))
        {
            var start = _at;
            do
            {
                _at++;
            }
            while (char.IsLetterOrDigit(At(0)) || At(0) == '_' || (At(0) == '.' && char.IsAsciiDigit(At(1))) || (At(0) is '+' or '-' && text[_at - 1] is 'e' or 'E' && !text.AsSpan(start).StartsWith("0x", StringComparison.OrdinalIgnoreCase)));
            return TokenKind.Number;
        }

        if (c == '\'')
        {
            Quoted('\'');
            return TokenKind.Text;
        }

        if (c is '"' or '$' or '@')
        {
            return Text();
        }

        foreach (var candidate in s_operators)
        {
            if (Looking(candidate))
            {
                _at += candidate.Length;
                return TokenKind.Operator;
            }
        }

        _at++;
        return TokenKind.Operator;
    }

    private TokenKind Text()
    {
        var holes = 0;
        var verbatim = false;
        for (; At(0) is '$' or '@'; _at++)
        {
            holes += At(0) == '$' ? 1 : 0;
            verbatim |= At(0) == '@';
        }

        var quotes = 0;
        while (At(quotes) == '"')
        {
            quotes++;
        }

        if (quotes >= 3 && !verbatim)
        {
            _at += quotes;
            SkipTo(new string('"', quotes));
            return holes == 0 ? TokenKind.Text : TokenKind.InterpolatedText;
        }

        if (quotes == 0)
        {
            return TokenKind.Operator;
        }

        if (holes == 0 && !verbatim)
        {
            Quoted('"');
        }
        else
        {
            Holed(holes != 0, verbatim);
        }

        if (Looking("u8"))
        {
            _at += 2;
        }

        return holes == 0 ? TokenKind.Text : TokenKind.InterpolatedText;
    }

    private void Quoted(char quote)
    {
        for (_at++; _at < text.Length && text[_at] != quote; _at++)
        {
            _at += text[_at] == '\\' ? 1 : 0;
        }

        _at = Math.Min(_at + 1, text.Length);
    }

    /// <summary>A text with holes, or a verbatim one. In the holes are texts again.</summary>
    private void Holed(bool holes, bool verbatim)
    {
        var depth = 0;
        for (_at++; _at < text.Length; _at++)
        {
            var c = text[_at];
            if (depth > 0 && (c is '"' or '\'' or '$' or '@'))
            {
                var before = _at;
                Next();
                _at = Math.Max(before, _at - 1);
            }
            else if (depth == 0 && c == '"')
            {
                if (!verbatim || At(1) != '"')
                {
                    _at++;
                    return;
                }

                _at++;
            }
            else if (depth == 0 && c == '\\' && !verbatim)
            {
                _at++;
            }
            else if (holes && c == '{')
            {
                if (depth == 0 && At(1) == '{')
                {
                    _at++;
                }
                else
                {
                    depth++;
                }
            }
            else if (holes && c == '}' && depth > 0)
            {
                depth--;
            }
        }
    }
}
