using System.Globalization;
using System.Text;

/// <summary>What the server has: sessions in C#, pages in the cache in C with handles, words in the C library that knows of no handles. Each answer is a sum that the load checks.</summary>
internal sealed class Shop : IDisposable
{
    /// <summary>One of so many sessions, pages and words stays at the end of its season: few, and everywhere.</summary>
    public const int KeptOf = 40;

    private const int VisitBytes = 300, LargestPage = 4000;
    private readonly Lock _lock = new();
    private readonly Dictionary<int, Session> _sessions = [];
    private readonly NativeCache _pages = new(1 << 30);
    private readonly Words _words = new();

    public int Sessions
    {
        get
        {
            lock (_lock) return _sessions.Count;
        }
    }

    public long Pages => _pages.Count;

    public long WordCount => _words.Count;

    /// <summary>What the load expects of the answers.</summary>
    public static ulong SumOf(string what, int first, int count, int season)
    {
        ulong sum = 0;
        Span<byte> bytes = stackalloc byte[LargestPage];
        for (int number = first; number < first + count; number++)
        {
            sum += what switch
            {
                "sessions" => (ulong)(number * 7L + season),
                "pages" => Sum(Render(number, season, bytes)),
                _ => (ulong)WordOf(number, bytes).Length,
            };
        }

        return sum;
    }

    /// <summary>Users visit the shop; each has a session with a history of his visits.</summary>
    public ulong Visit(int first, int count, int season)
    {
        ulong sum = 0;
        for (int user = first; user < first + count; user++)
        {
            lock (_lock)
            {
                if (!_sessions.TryGetValue(user, out Session? session)) _sessions.Add(user, session = new Session(user));
                byte[] visit = new byte[VisitBytes + user % 100];
                BitConverter.TryWriteBytes(visit, user * 7L + season);
                session.Add(visit);
                sum += (ulong)session.Last;
            }
        }

        return sum;
    }

    /// <summary>Users leave: all but some.</summary>
    public int Leave()
    {
        lock (_lock)
        {
            int[] leaving = [.. _sessions.Keys.Where(user => user % KeptOf != 0)];
            foreach (int user in leaving)
            {
                _sessions.Remove(user, out Session? session);
                session!.Check();
                session.Delete();
                Heap.Delete(session);
            }

            int count = leaving.Length;
            Heap.Delete(leaving);
            _sessions.TrimExcess();
            return count;
        }
    }

    /// <summary>Pages come from the cache, or are made.</summary>
    public ulong Page(int first, int count, int season)
    {
        ulong sum = 0;
        Span<byte> page = stackalloc byte[LargestPage];
        for (int number = first; number < first + count; number++)
        {
            ulong key = (ulong)season << 32 | (uint)number;
            int size = _pages.Get(key, page);
            if (size < 0)
            {
                size = Render(number, season, page).Length;
                _pages.Put(key, page[..size]);
            }

            sum += Sum(page[..size]);
        }

        return sum;
    }

    /// <summary>The cache forgets what was not asked for since, down to so many bytes.</summary>
    public void Shrink(long bytes)
    {
        _pages.SetMost(bytes);
        _pages.SetMost(1 << 30);
    }

    /// <summary>Words are searched for.</summary>
    public ulong Search(int first, int count)
    {
        ulong sum = 0;
        Span<byte> word = stackalloc byte[64], best = stackalloc byte[64];
        for (int number = first; number < first + count; number++)
        {
            Span<byte> asked = WordOf(number, word);
            _words.Ask(asked);
            int length = _words.Best(asked, best);
            if (!best[..length].SequenceEqual(asked)) throw new InvalidDataException($"'{Encoding.ASCII.GetString(asked)}' gave '{Encoding.ASCII.GetString(best[..length])}'");
            sum += (ulong)length;
        }

        return sum;
    }

    public long Forget() => _words.Forget(2);

    public void Dispose()
    {
        _pages.Dispose();
        _words.Dispose();
    }

    private static Span<byte> Render(int number, int season, Span<byte> to)
    {
        int size = 300 + season % 5 * 500 + (int)((uint)number * 2654435761 % 900);
        for (int i = 0; i < size; i++) to[i] = (byte)(number * 31 + season + i);
        return to[..size];
    }

    private static ulong Sum(ReadOnlySpan<byte> page)
    {
        ulong sum = 0;
        foreach (byte value in page) sum += value;
        return sum + (ulong)page.Length;
    }

    // No word begins another one.
    private static Span<byte> WordOf(int number, Span<byte> to)
    {
        uint mixed = (uint)number * 2654435761;
        Encoding.ASCII.TryGetBytes(string.Create(CultureInfo.InvariantCulture, $"{mixed:x8}-{number:d}."), to, out int length);
        return to[..length];
    }

    private sealed class Session(int user)
    {
        private byte[][] _visits = new byte[4][];
        private int _count;

        public long Last => BitConverter.ToInt64(_visits[_count - 1]);

        public void Add(byte[] visit)
        {
            if (_count == _visits.Length)
            {
                byte[][] before = _visits;
                _visits = new byte[2 * _count][];
                before.CopyTo(_visits, 0);
                Heap.Delete(before);
            }

            _visits[_count++] = visit;
        }

        public void Check()
        {
            foreach (byte[] visit in _visits.AsSpan(0, _count))
            {
                if (BitConverter.ToInt64(visit) / 7 - user is < 0 or > 100) throw new InvalidDataException($"user {user} has another one's visit");
            }
        }

        public void Delete()
        {
            foreach (byte[] visit in _visits.AsSpan(0, _count)) Heap.Delete(visit);
            Heap.Delete(_visits);
        }
    }
}
