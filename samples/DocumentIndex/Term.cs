namespace DocumentIndex;

/// <summary>An entry of the <see cref="TermTable"/>; terms are numbered and never removed.</summary>
internal struct Term
{
    public Posting? First;
    public Posting? Last;
    public int DocumentCount;

    /// <summary>Occurrences in the document that is being added; zero at any other time.</summary>
    public int Pending;

    public uint Hash;

    /// <summary>Where the text is: chunk, offset and length in the table's text chunks.</summary>
    public int TextChunk;
    public ushort TextOffset;
    public ushort TextLength;
}
