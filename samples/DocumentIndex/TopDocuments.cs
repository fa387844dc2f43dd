namespace DocumentIndex;

/// <summary>The best documents of a query, best first; of equal scores the older document comes first.</summary>
internal sealed class TopDocuments
{
    private readonly Document?[] _documents = new Document?[10];
    private readonly double[] _scores = new double[10];

    /// <summary>How many of the best there are (at most ten).</summary>
    public int Count { get; private set; }

    /// <summary>How many documents matched.</summary>
    public int Matches { get; private set; }

    public Document this[int rank] => _documents[rank]!;

    public double ScoreOf(int rank) => _scores[rank];

    public void Clear()
    {
        Array.Clear(_documents);
        Count = 0;
        Matches = 0;
    }

    public void Add(Document document, double score)
    {
        Matches++;
        var rank = Count;
        while (rank > 0 && IsBefore(document, score, rank - 1))
        {
            rank--;
        }

        if (rank == _documents.Length)
        {
            return;
        }

        Count = Math.Min(Count + 1, _documents.Length);
        for (var i = Count - 1; i > rank; i--)
        {
            _documents[i] = _documents[i - 1];
            _scores[i] = _scores[i - 1];
        }

        _documents[rank] = document;
        _scores[rank] = score;
    }

    public void Release()
    {
        Owned.Release(_documents);
        Owned.Release(_scores);
        Owned.Release(this);
    }

    private bool IsBefore(Document document, double score, int rank) =>
        score > _scores[rank] || (score == _scores[rank] && document.Id < _documents[rank]!.Id);
}
