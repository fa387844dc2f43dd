namespace DocumentIndex;

/// <summary>
/// One term in one document. It is a node of the term's list, which is ordered by document id (documents are only ever
/// appended), and an element of the document's array, which is ordered by term.
/// </summary>
internal sealed class Posting
{
    public readonly Document Document;
    public readonly int Term;
    public int Frequency;
    public Posting? Previous;
    public Posting? Next;

    public Posting(Document document, int term, int frequency)
    {
        Document = document;
        Term = term;
        Frequency = frequency;
    }
}
