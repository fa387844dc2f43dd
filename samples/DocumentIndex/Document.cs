namespace DocumentIndex;

/// <summary>One version of one member's documentation. Owns its text and its postings.</summary>
internal sealed class Document
{
    /// <summary>Grows with every document added, so a later version has a larger id.</summary>
    public readonly int Id;

    /// <summary>The member that this is a version of.</summary>
    public readonly int Member;

    public readonly int Version;

    /// <summary>Number of words.</summary>
    public readonly int Length;

    public readonly byte[] Text;

    /// <summary>One for each distinct term, in the order of the terms.</summary>
    public readonly Posting[] Postings;

    /// <summary>Working state of the query that <see cref="ScoredBy"/> names.</summary>
    public double Score;
    public long ScoredBy;

    public Document(int id, int member, int version, int length, byte[] text, Posting[] postings)
    {
        Id = id;
        Member = member;
        Version = version;
        Length = length;
        Text = text;
        Postings = postings;
    }

    /// <summary>The posting of a term, or null when the document does not contain it.</summary>
    public Posting? Find(int term)
    {
        var postings = Postings;
        int low = 0, high = postings.Length - 1;
        while (low <= high)
        {
            var middle = (low + high) >>> 1;
            var posting = postings[middle];
            if (posting.Term == term)
            {
                return posting;
            }

            if (posting.Term < term)
            {
                low = middle + 1;
            }
            else
            {
                high = middle - 1;
            }
        }

        return null;
    }
}
