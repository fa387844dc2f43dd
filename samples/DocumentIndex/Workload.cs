using System.Diagnostics;

namespace DocumentIndex;

/// <summary>The phases: build, query, replace, query, thin out, query, release. Everything written to standard output is a result.</summary>
internal sealed class Workload
{
    private readonly Options _options;
    private readonly List<string> _files;
    private readonly Measurements _measurements;
    private readonly Progress _progress;
    private readonly Output _output = new(Console.OpenStandardOutput());
    private readonly TopDocuments _top = new();
    private readonly InvertedIndex _index = new();
    private readonly int[] _firstMember;
    private byte[] _buffer = new byte[1 << 16];
    private Random64 _random = new(2026);
    private Checksum _queryResults;

    public Workload(Options options, List<string> files, Measurements measurements)
    {
        _options = options;
        _files = files;
        _measurements = measurements;
        _progress = new Progress(options.Quiet);
        _firstMember = new int[Math.Min(files.Count, options.Files) + 1];
    }

    private int FileCount => _firstMember.Length - 1;

    public void Run()
    {
        Build();
        _measurements.EndPhase("build");
        Query();
        _measurements.EndPhase("query");
        _measurements.AddResident("built_resident");
        Replace();
        _measurements.EndPhase("replace");
        _measurements.AddResident("replaced_resident");
        Query();
        _measurements.EndPhase("query_again");
        Verify();
        _measurements.EndPhase("verify");
        Thin();
        Query();
        _measurements.EndPhase("query_thinned");
        Verify();
        _index.Release();
        _top.Release();
        Owned.Release(_buffer);
        Owned.Release(_firstMember);
        _measurements.EndPhase("release");
    }

    private void Build()
    {
        var xml = new byte[1 << 16];
        var text = new byte[1 << 16];
        for (var file = 0; file < FileCount; file++)
        {
            var handle = File.OpenHandle(_files[file]);
            var length = (int)RandomAccess.GetLength(handle);
            if (length > xml.Length)
            {
                Owned.Grow(ref xml, length);
                Owned.Grow(ref text, length);
            }

            length = RandomAccess.Read(handle, xml.AsSpan(0, length), 0);
            handle.Dispose();
            Owned.Release(handle);
            _firstMember[file] = _index.Count;
            var reader = new MemberReader(xml.AsSpan(0, length));
            while (reader.Next(text, out _, out var member))
            {
                _index.Add(member);
            }

            _progress.Report("reading file"u8, file + 1, FileCount);
        }

        _firstMember[FileCount] = _index.Count;
        Owned.Release(xml);
        Owned.Release(text);
        Describe("built"u8);
    }

    private void Query()
    {
        All("read file stream asynchronously"u8);
        All("cancellation token task"u8);
        All("null reference thrown"u8);
        All("garbage collection memory pressure"u8);
        All("socket remote endpoint"u8);
        All("specified culture string comparison"u8);
        All("the value"u8);
        Prefix("serializ"u8);
        Prefix("crypto"u8);
        Prefix("vector"u8);
        Prefix("async"u8);
        Prefix("re"u8);
        for (var i = 0; i < 2000; i++)
        {
            RandomQuery();
        }

        _output.Text("random queries: "u8).Number(_queryResults.Value, "x16").EndLine();

        void All(ReadOnlySpan<byte> words)
        {
            var start = Stopwatch.GetTimestamp();
            _index.FindAll(words, _top);
            _measurements.EndOperation(Measurements.Operation.Query, start);
            Print("all of"u8, words);
        }

        void Prefix(ReadOnlySpan<byte> prefix)
        {
            var start = Stopwatch.GetTimestamp();
            _index.FindPrefix(prefix, _top);
            _measurements.EndOperation(Measurements.Operation.Query, start);
            Print("prefix"u8, prefix);
        }
    }

    private void Print(ReadOnlySpan<byte> kind, ReadOnlySpan<byte> query)
    {
        _output.Text(kind).Text(" '"u8).Text(query).Text("': "u8).Number(_top.Matches).Text(" documents"u8).EndLine();
        for (var rank = 0; rank < Math.Min(_top.Count, 3); rank++)
        {
            var document = _top[rank];
            var text = document.Text.AsSpan(0, Math.Min(document.Text.Length, 100));
            _output.Text("  "u8).Number(_top.ScoreOf(rank), "F4").Text(" #"u8).Number(document.Id).Text(" "u8).Text(text).EndLine();
        }
    }

    /// <summary>Two or three words of one document, so that there is at least one result.</summary>
    private void RandomQuery()
    {
        Span<int> terms = stackalloc int[3];
        Document? document;
        do
        {
            document = _index[_random.Next(_index.MemberCount)];
        }
        while (document is null);
        var postings = document.Postings;
        var count = 0;
        for (var i = 0; i < terms.Length; i++)
        {
            var term = postings[_random.Next(postings.Length)].Term;
            if (!terms[..count].Contains(term))
            {
                terms[count++] = term;
            }
        }

        var start = Stopwatch.GetTimestamp();
        _index.FindAll(terms[..count], _top);
        _measurements.EndOperation(Measurements.Operation.Query, start);
        _queryResults.Add(_top.Matches);
        for (var rank = 0; rank < _top.Count; rank++)
        {
            _queryResults.Add(_top[rank].Id);
            _queryResults.Add(_top.ScoreOf(rank));
        }
    }

    private void Replace()
    {
        var total = (long)_options.Passes * _index.Count;
        long done = 0;
        var units = _options.RandomOrder ? _index.Count : FileCount;
        var order = new int[units];
        for (var i = 0; i < units; i++)
        {
            order[i] = i;
        }

        for (var pass = 0; pass < _options.Passes; pass++)
        {
            _random.Shuffle(order);
            foreach (var unit in order)
            {
                var (first, end) = _options.RandomOrder ? (unit, unit + 1) : (_firstMember[unit], _firstMember[unit + 1]);
                for (var member = first; member < end; member++)
                {
                    ReplaceMember(member);
                    if (++done % 500 == 0)
                    {
                        RandomQuery();
                        _progress.Report("replacing document"u8, done, total);
                    }
                }
            }

            Describe("replaced"u8);
            _output.Text("random queries: "u8).Number(_queryResults.Value, "x16").EndLine();
        }

        _progress.Report("replacing document"u8, total, total);
        Owned.Release(order);
    }

    private void ReplaceMember(int member)
    {
        var start = Stopwatch.GetTimestamp();
        var old = _index[member]!;
        var length = Editor.MaximumLength(old.Text.Length);
        if (length > _buffer.Length)
        {
            Owned.Grow(ref _buffer, length);
        }

        _index.Replace(member, Editor.Edit(old.Text, member, old.Version + 1, _buffer));
        _measurements.EndOperation(Measurements.Operation.Replace, start);
    }

    /// <summary>Deletes seven of eight documents, here and there: what lives on is scattered over all of the memory.</summary>
    private void Thin()
    {
        _measurements.AddResident("full_resident");
        for (var member = 0; member < _index.MemberCount; member++)
        {
            if (_random.Next(8) != 0)
            {
                _index.Remove(member);
            }
        }

        _measurements.EndPhase("thin");
        _measurements.AddResident("thinned_resident");
        var start = Stopwatch.GetTimestamp();
        // Freehold does both by itself, some time later; the second gives back what the first has emptied. The stock heaps have only the second.
        Heap.Compact();
        GC.Collect(GC.MaxGeneration, GCCollectionMode.Aggressive, blocking: true, compacting: true);
        _measurements.Add("compact_ms", Stopwatch.GetElapsedTime(start).TotalMilliseconds);
        _measurements.EndPhase("compact");
        _measurements.AddResident("compacted_resident");
        Describe("thinned out"u8);
    }

    private void Verify()
    {
        Describe("verified"u8);
        _output.Text("checksum "u8).Number(_index.Verify(), "x16").EndLine();
        _output.Flush();
    }

    private void Describe(ReadOnlySpan<byte> what)
    {
        _output.Text(what).Text(": "u8).Number(_index.Count).Text(" documents, "u8)
            .Number(_index.TermCount).Text(" terms, "u8)
            .Number(_index.PostingCount).Text(" postings, "u8)
            .Number(_index.TextBytes).Text(" bytes of text"u8).EndLine();
        _output.Flush();
    }
}
