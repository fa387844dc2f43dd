namespace Freehold.Differential.Programs;

/// <summary>Scopes of objects deleted in the reverse order of their making.</summary>
internal static partial class DeleteLifo
{
    private sealed class Frame(int depth, Frame? parent)
    {
        public readonly int Depth = depth;
        public readonly Frame? Parent = parent;
        public readonly List<string> Names = [];
    }

    public static void Run()
    {
        var sum = new Checksum();
        for (int round = 0; round < 60; round++)
            Enter(0, null, new Random(round), sum);
        Console.WriteLine(sum);
        var stack = new Stack<object>();
        var random = new Random(21);
        for (int i = 0; i < 100_000; i++)
        {
            if (random.Next(100) < 52 || stack.Count == 0)
                stack.Push(i % 3 == 0 ? "text" + i : i % 3 == 1 ? new int[i % 50] : (object)i);
            else
            {
                object top = stack.Pop();
                sum.Add(top is string text ? text.Length : top is int[] array ? array.Length : (int)top);
                Manual.Delete(top);
            }
        }
        Console.WriteLine(sum + " " + stack.Count);
    }

    private static void Enter(int depth, Frame? parent, Random random, Checksum sum)
    {
        var frame = new Frame(depth, parent);
        for (int i = 0; i < random.Next(4); i++)
            frame.Names.Add(depth + "." + i);
        if (depth < 10)
        {
            for (int i = 0; i < random.Next(1, 3); i++)
                Enter(depth + 1, frame, random, sum);
        }
        int length = 0;
        for (Frame? at = frame; at is not null; at = at.Parent)
            length += at.Names.Sum(name => name.Length) + at.Depth;
        sum.Add(length);
        foreach (string name in frame.Names)
            Manual.Delete(name);
        Manual.Delete(frame.Names);
        Manual.Delete(frame);
    }
}
