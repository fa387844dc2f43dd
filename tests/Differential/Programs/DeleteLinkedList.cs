namespace Freehold.Differential.Programs;

/// <summary>A doubly linked list with an index: nodes inserted, unlinked and deleted.</summary>
internal static partial class DeleteLinkedList
{
    private sealed class Node(int key, string value)
    {
        public readonly int Key = key;
        public string Value = value;
        public Node? Previous;
        public Node? Next;
    }

    private sealed class Cache(int capacity)
    {
        private readonly Dictionary<int, Node> _index = [];
        private Node? _first;
        private Node? _last;

        public int Evicted { get; private set; }

        public string Get(int key)
        {
            if (_index.TryGetValue(key, out Node? node))
            {
                Unlink(node);
            }
            else
            {
                node = new Node(key, "value of " + key);
                _index.Add(key, node);
                if (_index.Count > capacity)
                {
                    Node last = _last!;
                    Unlink(last);
                    _index.Remove(last.Key);
                    Evicted += last.Value.Length;
                    Manual.Delete(last.Value);
                    Manual.Delete(last);
                }
            }
            node.Next = _first;
            if (_first is not null)
                _first.Previous = node;
            _first = node;
            _last ??= node;
            return node.Value;
        }

        public IEnumerable<int> Keys()
        {
            for (Node? node = _first; node is not null; node = node.Next)
                yield return node.Key;
        }

        private void Unlink(Node node)
        {
            if (node.Previous is null)
                _first = node.Next;
            else
                node.Previous.Next = node.Next;
            if (node.Next is null)
                _last = node.Previous;
            else
                node.Next.Previous = node.Previous;
            node.Previous = node.Next = null;
        }
    }

    public static void Run()
    {
        var cache = new Cache(2_000);
        var random = new Random(23);
        long length = 0;
        for (int i = 0; i < 300_000; i++)
            length += cache.Get(random.Next(100) < 70 ? random.Next(1_500) : random.Next(50_000)).Length;
        var sum = new Checksum();
        foreach (int key in cache.Keys())
            sum.Add(key);
        Console.WriteLine(length + " " + cache.Evicted + " " + sum);
    }
}
