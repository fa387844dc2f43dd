namespace Freehold.Benchmarks.CompilerLike;

internal enum TokenKind
{
    Name,
    Number,
    Text,
    InterpolatedText,
    Operator,
    End,
}

/// <summary>A word of the text. Names are the same string wherever they stand, keywords are names.</summary>
internal sealed class Token(TokenKind kind, string text, int start, bool isGlued)
{
    public readonly TokenKind Kind = kind;
    public readonly string Text = text;
    public readonly int Start = start;

    /// <summary>Nothing lies between it and the token before.</summary>
    public readonly bool IsGlued = isGlued;

    public bool Is(string text) => Kind is TokenKind.Name or TokenKind.Operator && Text == text;
}
