using System.Runtime.CompilerServices;

namespace Freehold.Contract;

/// <summary>Scopes beside a model that knows what each root leads to.</summary>
internal static partial class Scopes
{
    // Random graphs in scopes in each other. What the model reaches is as it was; what is gone the model does not reach.
    private static void Agrees(int seed)
    {
        Console.Error.WriteLine($"seed {seed}");
        var random = new Random(seed);
        for (int round = 0; round < 10; round++)
        {
            var roots = new Node?[10];
            int[] expected = new int[10];
            Round(random, roots, expected, 0);
            for (int i = 0; i < roots.Length; i++)
            {
                if (roots[i] is { } node)
                    Expect.Equal(expected[i], Sum(node));
            }
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Round(Random random, Node?[] roots, int[] expected, int depth)
    {
        for (int step = 0; step < 30; step++)
        {
            int i = random.Next(roots.Length);
            switch (random.Next(6))
            {
                case 0 when depth < 4:
                    using (Heap.Scope())
                        Round(random, roots, expected, depth + 1);
                    break;
                case 1:
                    roots[i] = null;
                    break;
                case 2 when roots[i] is { } node:
                    roots[i] = new Node(random.Next(100), node);
                    expected[i] += roots[i]!.Value;
                    break;
                case 3 when roots[i] is { Next: { } next } node:
                    roots[i] = next;
                    expected[i] -= node.Value;
                    break;
                case 4 when roots[i] is { } node:
                    var last = new Node(random.Next(100));
                    expected[i] += last.Value;
                    while (node.Next is { } further)
                        node = further;
                    node.Next = last;
                    break;
                default:
                    if (roots[i] is null)
                    {
                        roots[i] = new Node(random.Next(100)) { Other = new byte[random.Next(100)] };
                        expected[i] = roots[i]!.Value;
                    }
                    break;
            }
        }
    }

    private static int Sum(Node? node)
    {
        int sum = 0;
        for (; node is not null; node = node.Next)
            sum += node.Value;
        return sum;
    }
}
