namespace DocumentIndex;

/// <summary>
/// The current version of each member's documentation, and for each term the list of the documents that contain it.
/// Replacing a document takes its postings out of their lists and gives all its memory back.
/// </summary>
internal sealed class InvertedIndex
{
    private readonly TermTable _terms = new();
    private readonly byte[] _word = new byte[Tokenizer.MaximumLength];
    private Document?[] _documents = new Document?[1 << 10];
    private int[] _documentTerms = new int[256];
    private Document?[] _candidates = new Document?[256];
    private int _nextId;
    private long _queries;

    /// <summary>Number of documents.</summary>
    public int Count { get; private set; }

    /// <summary>Number of members, whether their documents are still there or not.</summary>
    public int MemberCount { get; private set; }

    public int TermCount => _terms.Count;

    public long PostingCount { get; private set; }

    public long TextBytes { get; private set; }

    /// <summary>The document of a member; null when it was removed.</summary>
    public Document? this[int member] => _documents[member];

    public ReadOnlySpan<byte> TextOf(int term) => _terms.TextOf(term);

    /// <summary>Adds the first version of a member that is numbered by the order of these calls.</summary>
    public void Add(ReadOnlySpan<byte> text)
    {
        if (MemberCount == _documents.Length)
        {
            Owned.Grow(ref _documents, 0);
        }

        _documents[MemberCount] = CreateDocument(MemberCount, 0, text);
        MemberCount++;
        Count++;
    }

    /// <summary>Deletes the document of a member.</summary>
    public void Remove(int member)
    {
        var document = _documents[member]!;
        _documents[member] = null;
        DeleteDocument(document);
        Count--;
    }

    /// <summary>Puts a new version in the place of the current one, and deletes the latter.</summary>
    public void Replace(int member, ReadOnlySpan<byte> text)
    {
        var old = _documents[member]!;
        _documents[member] = CreateDocument(member, old.Version + 1, text);
        DeleteDocument(old);
    }

    /// <summary>Documents that contain all words of <paramref name="query"/>, ranked by tf-idf.</summary>
    public void FindAll(ReadOnlySpan<byte> query, TopDocuments results)
    {
        Span<int> terms = stackalloc int[16];
        var count = 0;
        var tokenizer = new Tokenizer(query, _word);
        for (var word = tokenizer.Next(); !word.IsEmpty && count < terms.Length; word = tokenizer.Next())
        {
            var term = _terms.Find(word);
            if (term < 0)
            {
                results.Clear();
                return;
            }

            if (!terms[..count].Contains(term))
            {
                terms[count++] = term;
            }
        }

        FindAll(terms[..count], results);
    }

    /// <summary>Documents that contain all <paramref name="terms"/> (distinct), ranked by tf-idf.</summary>
    public void FindAll(ReadOnlySpan<int> terms, TopDocuments results)
    {
        results.Clear();
        if (terms.IsEmpty)
        {
            return;
        }

        var rarest = terms[0];
        foreach (var term in terms)
        {
            if (_terms[term].DocumentCount < _terms[rarest].DocumentCount)
            {
                rarest = term;
            }
        }

        for (var posting = _terms[rarest].First; posting is not null; posting = posting.Next)
        {
            var document = posting.Document;
            var score = 0.0;
            var matches = true;
            foreach (var term in terms)
            {
                var other = term == rarest ? posting : document.Find(term);
                if (other is null)
                {
                    matches = false;
                    break;
                }

                score += other.Frequency * InverseFrequency(term);
            }

            if (matches)
            {
                results.Add(document, score / Math.Sqrt(document.Length));
            }
        }
    }

    /// <summary>Documents that contain a word that begins with <paramref name="prefix"/>, ranked by tf-idf.</summary>
    public void FindPrefix(ReadOnlySpan<byte> prefix, TopDocuments results)
    {
        results.Clear();
        var query = ++_queries;
        var count = 0;
        var (start, end) = _terms.FindPrefix(prefix);
        foreach (var term in _terms.Sorted[start..end])
        {
            var weight = InverseFrequency(term);
            for (var posting = _terms[term].First; posting is not null; posting = posting.Next)
            {
                var document = posting.Document;
                if (document.ScoredBy != query)
                {
                    document.ScoredBy = query;
                    document.Score = 0;
                    if (count == _candidates.Length)
                    {
                        Owned.Grow(ref _candidates, 0);
                    }

                    _candidates[count++] = document;
                }

                document.Score += posting.Frequency * weight;
            }
        }

        foreach (var document in _candidates.AsSpan(0, count))
        {
            results.Add(document!, document!.Score / Math.Sqrt(document.Length));
        }

        _candidates.AsSpan(0, count).Clear();
    }

    /// <summary>A checksum of every list, and a check that lists, documents and counts agree.</summary>
    public ulong Verify()
    {
        var checksum = default(Checksum);
        long postings = 0;
        for (var term = 0; term < _terms.Count; term++)
        {
            var inList = 0;
            Posting? previous = null;
            for (var posting = _terms[term].First; posting is not null; posting = posting.Next)
            {
                if (posting.Term != term || !ReferenceEquals(posting.Previous, previous)
                    || (previous is not null && previous.Document.Id >= posting.Document.Id)
                    || !ReferenceEquals(_documents[posting.Document.Member], posting.Document))
                {
                    throw new InvalidOperationException("The index is damaged.");
                }

                checksum.Add(posting.Document.Id);
                checksum.Add(posting.Frequency);
                previous = posting;
                inList++;
            }

            if (inList != _terms[term].DocumentCount || !ReferenceEquals(_terms[term].Last, previous))
            {
                throw new InvalidOperationException("The index is damaged.");
            }

            postings += inList;
        }

        if (postings != PostingCount)
        {
            throw new InvalidOperationException("The index is damaged.");
        }

        foreach (var document in _documents.AsSpan(0, MemberCount))
        {
            if (document is not null)
            {
                foreach (var b in document.Text)
                {
                    checksum.Add(b);
                }
            }
        }

        return checksum.Value;
    }

    /// <summary>Deletes every document, then the index itself.</summary>
    public void Release()
    {
        for (var member = 0; member < MemberCount; member++)
        {
            if (_documents[member] is not null)
            {
                Remove(member);
            }
        }

        _terms.Release();
        Owned.Release(_documents);
        Owned.Release(_documentTerms);
        Owned.Release(_candidates);
        Owned.Release(_word);
        Owned.Release(this);
    }

    private double InverseFrequency(int term) => Math.Log(1.0 + ((double)Count / _terms[term].DocumentCount));

    private Document CreateDocument(int member, int version, ReadOnlySpan<byte> text)
    {
        var distinct = 0;
        var length = 0;
        var tokenizer = new Tokenizer(text, _word);
        for (var word = tokenizer.Next(); !word.IsEmpty; word = tokenizer.Next())
        {
            var number = _terms.GetOrAdd(word);
            if (_terms[number].Pending++ == 0)
            {
                if (distinct == _documentTerms.Length)
                {
                    Owned.Grow(ref _documentTerms, 0);
                }

                _documentTerms[distinct++] = number;
            }

            length++;
        }

        var terms = _documentTerms.AsSpan(0, distinct);
        HeapSort.Sort(terms, default(Ascending));
        var postings = new Posting[distinct];
        var document = new Document(_nextId++, member, version, length, text.ToArray(), postings);
        for (var i = 0; i < terms.Length; i++)
        {
            ref var term = ref _terms[terms[i]];
            var posting = new Posting(document, terms[i], term.Pending) { Previous = term.Last };
            term.Pending = 0;
            term.DocumentCount++;
            if (term.Last is null)
            {
                term.First = posting;
            }
            else
            {
                term.Last.Next = posting;
            }

            term.Last = posting;
            postings[i] = posting;
        }

        PostingCount += distinct;
        TextBytes += text.Length;
        return document;
    }

    private void DeleteDocument(Document document)
    {
        var postings = document.Postings;
        foreach (var posting in postings)
        {
            ref var term = ref _terms[posting.Term];
            var (previous, next) = (posting.Previous, posting.Next);
            if (previous is null)
            {
                term.First = next;
            }
            else
            {
                previous.Next = next;
            }

            if (next is null)
            {
                term.Last = previous;
            }
            else
            {
                next.Previous = previous;
            }

            term.DocumentCount--;
            Owned.Release(posting);
        }

        PostingCount -= postings.Length;
        TextBytes -= document.Text.Length;
        Owned.Release(postings);
        Owned.Release(document.Text);
        Owned.Release(document);
    }
}
