namespace Freehold.Differential.Programs;

/// <summary>Lazy iterators, nested enumeration, disposal in the middle, custom enumerators.</summary>
internal static partial class Iterators
{
    private sealed class Tree(int value, Tree? left, Tree? right) : IEnumerable<int>
    {
        public IEnumerator<int> GetEnumerator()
        {
            if (left is not null)
            {
                foreach (int item in left)
                    yield return item;
            }
            yield return value;
            if (right is not null)
            {
                foreach (int item in right)
                    yield return item;
            }
        }

        System.Collections.IEnumerator System.Collections.IEnumerable.GetEnumerator() => GetEnumerator();
    }

    private ref struct Lines(ReadOnlySpan<char> text)
    {
        private ReadOnlySpan<char> _rest = text;

        public ReadOnlySpan<char> Current { get; private set; }

        public readonly Lines GetEnumerator() => this;

        public bool MoveNext()
        {
            if (_rest.IsEmpty)
                return false;
            int end = _rest.IndexOf('\n');
            Current = end < 0 ? _rest : _rest[..end];
            _rest = end < 0 ? default : _rest[(end + 1)..];
            return true;
        }
    }

    private static int s_disposed;

    private static IEnumerable<long> Primes()
    {
        var found = new List<long>();
        try
        {
            for (long candidate = 2; ; candidate++)
            {
                if (found.TakeWhile(prime => prime * prime <= candidate).All(prime => candidate % prime != 0))
                {
                    found.Add(candidate);
                    yield return candidate;
                }
            }
        }
        finally
        {
            s_disposed += found.Count;
        }
    }

    private static Tree? Build(int from, int to)
    {
        if (from >= to)
            return null;
        int middle = (from + to) / 2;
        return new Tree(middle, Build(from, middle), Build(middle + 1, to));
    }

    public static void Run()
    {
        Console.WriteLine(Build(0, 3_000)!.Aggregate(17L, (a, b) => a * 31 + b));
        Console.WriteLine(Primes().Skip(500).First() + " " + s_disposed);
        Console.WriteLine(Primes().TakeWhile(prime => prime < 4_000).Sum() + " " + s_disposed);
        int length = 0;
        string text = string.Join('\n', Enumerable.Range(0, 5_000).Select(i => new string('l', i % 20)));
        foreach (ReadOnlySpan<char> line in new Lines(text))
            length += line.Length + 1;
        Console.WriteLine(length + " " + text.Length);
        try
        {
            foreach (int item in Failing())
                length += item;
        }
        catch (InvalidOperationException exception)
        {
            Console.WriteLine(exception.Message + " " + (length - text.Length));
        }
        var list = new List<int> { 1, 2, 3 };
        try
        {
            foreach (int item in list)
                list.Add(item);
        }
        catch (InvalidOperationException)
        {
            Console.WriteLine("modified " + list.Count);
        }
    }

    private static IEnumerable<int> Failing()
    {
        yield return 1;
        yield return 2;
        throw new InvalidOperationException("in the middle");
    }
}
