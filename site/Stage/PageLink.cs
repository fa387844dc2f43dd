namespace Freehold.Site;

/// <summary>A link or a picture of a page.</summary>
/// <param name="Start">Where its address begins in the page's text.</param>
/// <param name="Length">How many characters its address has there.</param>
/// <param name="Line">Counted from 1.</param>
/// <param name="Address">What stands there.</param>
/// <param name="Text">What a reader sees; of a picture, its description.</param>
internal sealed record PageLink(int Start, int Length, int Line, string Address, string Text)
{
    /// <summary>To another site, or by another program.</summary>
    public bool IsElsewhere => Address.Contains(':', StringComparison.Ordinal);

    /// <summary>The address without what follows '#'; empty for a link within the page.</summary>
    public string File => Address.Split('#')[0];

    /// <summary>'#' and what follows it, or nothing.</summary>
    public string Anchor => Address[File.Length..];
}
