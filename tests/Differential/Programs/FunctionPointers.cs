using System.Runtime.CompilerServices;

namespace Freehold.Differential.Programs;

/// <summary>Managed function pointers of every shape: generic, of structs and refs, kept in arrays and statics, called while what they are given moves.</summary>
internal static unsafe partial class FunctionPointers
{
    private struct Wide
    {
        public long A, B;
        public string Text;
        public object? Other;
    }

    private class Node
    {
        public Node? Next;
        public int Value;

        public virtual int Twice() => Value * 2;
    }

    private sealed class Odd : Node
    {
        public override int Twice() => (Value * 2) + 1;
    }

    private static readonly delegate*<int, int, int>[] s_operations = [&Add, &Subtract, &Multiply];

    private static int Add(int left, int right) => left + right;

    private static int Subtract(int left, int right) => left - right;

    private static int Multiply(int left, int right) => left * right;

    private static Wide Make(string text, object? other) => new() { A = text.Length, B = -text.Length, Text = text, Other = other };

    private static ref string TextOf(ref Wide wide) => ref wide.Text;

    private static ref T At<T>(T[] items, int index) => ref items[index];

    private static T Choose<T>(T left, T right, bool first) => first ? left : right;

    private static int TwiceOf(Node node) => node.Twice();

    private static Span<T> Half<T>(Span<T> items) => items[..(items.Length / 2)];

    private static void Link(out Node? head, int count)
    {
        head = null;
        for (int i = 0; i < count; i++)
            head = (i % 3 == 0) ? new Odd { Next = head, Value = i } : new Node { Next = head, Value = i };
    }

    private static int Fail(Node? node) => node!.Value;

    private static TResult Apply<T, TResult>(delegate*<T, TResult> function, T argument) => function(argument);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static delegate*<string, object?, Wide> Maker() => &Make;

    public static void Run()
    {
        long total = 0;
        for (int i = 0; i < 3_000; i++)
            total += s_operations[i % s_operations.Length](i, i / 3);
        Console.WriteLine(total);

        var wides = new Wide[400];
        delegate*<string, object?, Wide> make = Maker();
        delegate*<ref Wide, ref string> text = &TextOf;
        for (int i = 0; i < wides.Length; i++)
        {
            wides[i] = make("wide " + i, i % 2 == 0 ? wides : null);
            ref string field = ref text(ref wides[i]);
            // Much is allocated while the ref is held.
            string longer = string.Concat(field, new string('x', i % 50));
            Manual.Delete(new byte[2_000]);
            field = longer;
        }
        var sum = new Checksum();
        foreach (Wide wide in wides)
        {
            sum.Add(wide.Text);
            sum.Add(wide.A - wide.B + (ReferenceEquals(wide.Other, wides) ? 1 : 0));
        }
        Console.WriteLine(sum);

        delegate*<out Node?, int, void> link = &Link;
        link(out Node? head, 1_000);
        delegate*<Node, int> twice = &TwiceOf;
        int twices = 0;
        for (Node? node = head; node is not null; node = node.Next)
            twices += Apply(twice, node);
        Console.WriteLine(twices);

        delegate*<Wide[], int, ref Wide> at = &At<Wide>;
        delegate*<string[], int, ref string> stringAt = &At<string>;
        at(wides, 7).Text = "seven";
        string[] strings = ["a", "b", "c"];
        stringAt(strings, 1) += "!";
        Console.WriteLine(wides[7].Text + " " + string.Join(',', strings));
        delegate*<Span<long>, Span<long>> half = &Half;
        Console.WriteLine(half([1, 2, 3, 4]).Length);
        delegate*<string, string, bool, string> choose = &Choose;
        delegate*<Wide, Wide, bool, Wide> chooseWide = &Choose;
        Console.WriteLine(choose("left", "right", false) + " " + chooseWide(wides[0], wides[1], true).Text);

        delegate*<Node?, int> fail = &Fail;
        try
        {
            _ = fail(null);
        }
        catch (NullReferenceException exception)
        {
            Console.WriteLine(exception.GetType().Name);
        }
        Console.WriteLine(Same() + " " + Threads(wides));
    }

    // Pointers to one method compare equal, and travel as numbers.
    private static bool Same()
    {
        delegate*<int, int, int> add = &Add;
        nint number = (nint)add;
        return ((delegate*<int, int, int>)number)(2, 3) == 5 && s_operations[0](2, 3) == 5;
    }

    private static long Threads(Wide[] wides)
    {
        long all = 0;
        nint at = (nint)(delegate*<Wide[], int, ref Wide>)&At<Wide>;
        Parallel.For(0, 8, thread =>
        {
            long sum = 0;
            for (int i = 0; i < 5_000; i++)
            {
                ref Wide wide = ref ((delegate*<Wide[], int, ref Wide>)at)(wides, ((thread * 50) + (i % 50)));
                wide.Other = new Node { Value = i };
                wide.B++;
                sum += ((Node)wide.Other).Value;
                if (i % 7 == 0)
                {
                    Manual.Delete(wide.Other);
                    wide.Other = null;
                }
            }
            Interlocked.Add(ref all, sum);
        });
        return all + wides.Sum(wide => wide.B);
    }
}
