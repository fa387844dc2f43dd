namespace Freehold.Differential.Programs;

/// <summary>A treap whose removed nodes and subtrees are deleted.</summary>
internal static partial class DeleteTree
{
    private sealed class Node(int key, int priority)
    {
        public readonly int Key = key;
        public readonly int Priority = priority;
        public Node? Left;
        public Node? Right;
        public string Label = "k" + key;
    }

    private static Node? Merge(Node? left, Node? right)
    {
        if (left is null || right is null)
            return left ?? right;
        if (left.Priority > right.Priority)
        {
            left.Right = Merge(left.Right, right);
            return left;
        }
        right.Left = Merge(left, right.Left);
        return right;
    }

    private static (Node? Less, Node? Others) Split(Node? node, int key)
    {
        if (node is null)
            return default;
        if (node.Key < key)
        {
            (node.Right, Node? rest) = Split(node.Right, key);
            return (node, rest);
        }
        (Node? less, node.Left) = Split(node.Left, key);
        return (less, node);
    }

    private static int DeleteAll(Node? node)
    {
        if (node is null)
            return 0;
        int count = DeleteAll(node.Left) + DeleteAll(node.Right) + 1;
        if (node.Label != "k" + node.Key)
            throw new InvalidDataException(node.Label);
        Manual.Delete(node.Label);
        Manual.Delete(node);
        return count;
    }

    private static void Walk(Node? node, Checksum sum)
    {
        if (node is null)
            return;
        Walk(node.Left, sum);
        sum.Add(node.Key);
        sum.Add(node.Label);
        Walk(node.Right, sum);
    }

    public static void Run()
    {
        var random = new Random(24);
        Node? root = null;
        int deleted = 0;
        for (int i = 0; i < 60_000; i++)
        {
            int key = random.Next(40_000);
            (Node? less, Node? rest) = Split(root, key);
            (Node? equal, rest) = Split(rest, key + (i % 50 == 0 ? 200 : 1));
            deleted += DeleteAll(equal);
            root = i % 3 == 2 ? Merge(less, rest) : Merge(Merge(less, new Node(key, random.Next())), rest);
        }
        var sum = new Checksum();
        Walk(root, sum);
        Console.WriteLine(deleted + " " + sum);
        Console.WriteLine(DeleteAll(root));
    }
}
