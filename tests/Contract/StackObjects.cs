using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Freehold.Contract;

/// <summary>
/// Objects that do not escape, which the compiler of .NET 10 puts on the stack. Each method here is measured first: where it is to have its object on the stack, it must not allocate, and
/// where the object is to be one of the heap, it must. So none of these cases is about something else than it says. (On .NET 9 all of them are on the heap, and only the results count.)
/// </summary>
internal static class StackObjects
{
    private const MethodImplOptions NotInlined = MethodImplOptions.NoInlining;
    private const int Runs = 1000;

    private sealed class Leaf(int number)
    {
        public int Number = number;
    }

    private sealed class Pair(int[] left, int[] right)
    {
        public int[] Left = left;
        public int[] Right = right;
        public int Number;
    }

    private struct Tagged
    {
        public int[] Array;
        public int Tag;
    }

    public static IEnumerable<Case> All()
    {
        yield return new("stack-fields", _ => Fields());
        yield return new("stack-spans", _ => Spans());
        yield return new("stack-dangling", _ => HoldsADeletedOne());
        yield return new("stack-moving", _ => HoldsWhatMoves());
        yield return new("stack-root", _ => KeepsAlive());
        yield return new("stack-threads", _ => OnManyThreads());
        yield return new("stack-delete", _ => Deletes());
        yield return new("stack-identity", _ => Compares());
        yield return new("stack-header", _ => HasAHeader());
        yield return new("stack-handles", _ => Handles());
        yield return new("stack-pin", _ => Pins());
        yield return new("stack-exchange", _ => Exchanges());
    }

    private static long Allocates(Func<int> run, int expected, string? what)
    {
        Expect.Equal(expected, run(), what);
        long before = GC.GetAllocatedBytesForCurrentThread();
        for (int i = 0; i < Runs; i++)
            Expect.Equal(expected, run(), what);
        return GC.GetAllocatedBytesForCurrentThread() - before;
    }

    // Less than a third of the smallest object each: what a thread gets anew when its part of the heap is taken away meanwhile counts as allocated.
    private static void OnTheStack(Func<int> run, int expected, [CallerArgumentExpression(nameof(run))] string? what = null)
    {
        long bytes = Allocates(run, expected, what);
#if NET10_0_OR_GREATER
        Expect.True(bytes < Runs * 8, $"{Runs} times {what} allocate {bytes} bytes: not on the stack");
#else
        _ = bytes;
#endif
    }

    private static void OnTheHeap(Func<int> run, int expected, [CallerArgumentExpression(nameof(run))] string? what = null)
    {
        long bytes = Allocates(run, expected, what);
        Expect.True(bytes >= Runs * 24, $"{Runs} times {what} allocate {bytes} bytes: not on the heap");
    }

    // What was on the stack before is no header.
    [MethodImpl(NotInlined)]
    private static void DirtyTheStack()
    {
        Span<long> words = stackalloc long[200];
        words.Fill(-1L);
        Use(words);

        [MethodImpl(NotInlined)]
        static void Use(Span<long> words) => words[0] = words.Length;
    }

    [MethodImpl(NotInlined)]
    private static void DoNothing()
    {
    }

    // Objects with references to the heap, on the stack.

    [MethodImpl(NotInlined)]
    private static int SumOfFields(int[] left, int[] right, Action between)
    {
        var pair = new Pair(left, right) { Number = 1 };
        between();
        return pair.Left[0] + pair.Right[^1] + pair.Number;
    }

    // An index that is not known: the array is in memory, whatever else the compiler keeps in registers.
    [MethodImpl(NotInlined)]
    private static int SumOfElements(int[] left, int[] right, int first, Action between)
    {
        int[][] both = [left, right];
        between();
        return both[first][0] + both[1 - first][^1] + 1;
    }

    [MethodImpl(NotInlined)]
    private static int SumOfBox(int[] left, int[] right, Action between)
    {
        object box = new Tagged { Array = left, Tag = 1 }, other = right[^1];
        between();
        return ((Tagged)box).Array[0] + (box is Tagged tagged ? tagged.Tag : 0) + (int)other;
    }

    [MethodImpl(NotInlined)]
    private static int SumInHandler(int[] left, int[] right, Action between)
    {
        var pair = new Pair(left, right);
        try
        {
            pair.Number = 1;
            between();
            if (left.Length < 100)
                throw new InvalidOperationException();
        }
        catch (InvalidOperationException)
        {
            return pair.Left[0] + pair.Right[^1] + pair.Number;
        }
        return pair.Left[0] + pair.Right[^1] + 1;
    }

    private static void Fields()
    {
        int[] left = new int[200], right = [3, 2];
        left[0] = 7;
        OnTheStack(() => SumOfFields(left, right, DoNothing), 10);
        OnTheStack(() => SumOfElements(left, right, 0, DoNothing), 10);
        OnTheStack(() => SumOfElements(right, left, 0, DoNothing), 4);
        OnTheStack(() => SumOfBox(left, right, DoNothing), 10);
        OnTheStack(() => SumInHandler(left, right, DoNothing), 10);
        OnTheStack(() => Types(4), 15);

        [MethodImpl(NotInlined)]
        static int Types(int number)
        {
            var leaf = new Leaf(number);
            object o = leaf;
            DoNothing();
            return (o.GetType() == typeof(Leaf) ? 1 : 0) + (o is Leaf ? 2 : 0) + (o is Pair ? 100 : 4) + (leaf != null ? 4 : 0) + ((Leaf)o).Number;
        }
    }

    private static void Spans()
    {
        string[] names = ["a", "bc", "def"];
        OnTheStack(() => Numbers(3), 16);
        OnTheStack(() => Bytes(5), 20);

        // The barriers of a copy meet a place that is not in the heap, and then one that is.
        for (int i = 0; i < 100; i++)
        {
            string[] copy = Names(names);
            Expect.True(ReferenceEquals(copy[0], names[2]) && ReferenceEquals(copy[2], names[0]) && copy[1].Length == 2);
            Heap.Delete(copy);
            if (i % 10 == 0)
                Heap.Compact();
        }

        [MethodImpl(NotInlined)]
        static int Numbers(int first)
        {
            Span<int> numbers = new[] { first, 5, 8 };
            int sum = 0;
            foreach (int number in numbers)
                sum += number;
            return sum;
        }

        [MethodImpl(NotInlined)]
        static int Bytes(int value)
        {
            int[] from = new int[4];
            from.AsSpan().Fill(value);
            return from[0] + from[1] + from[2] + from[3];
        }

        [MethodImpl(NotInlined)]
        static string[] Names(string[] names)
        {
            string[] local = new string[3];
            names.AsSpan().CopyTo(local);
            local.AsSpan().Reverse();
            string[] result = new string[3];
            local.AsSpan().CopyTo(result);
            return result;
        }
    }

    private static void HoldsADeletedOne()
    {
        int[] left = [7], right = [3, 2];
        OnTheStack(() => SumOfFields(left, right, DoNothing), 10);
        OnTheStack(() => SumOfElements(left, right, 0, DoNothing), 10);
        foreach (bool deleteRight in new[] { false, true })
        {
            Dangles((a, b, delete) => SumOfFields(a, b, delete), deleteRight);
            Dangles((a, b, delete) => SumOfElements(a, b, 0, delete), deleteRight);
            Dangles((a, b, delete) => SumInHandler(a, b, delete), deleteRight);
        }
        Dangles((a, b, delete) => SumOfBox(a, b, delete), false);

        static void Dangles(Func<int[], int[], Action, int> sum, bool deleteRight)
        {
            // Memory of such arrays goes at once, and each use throws.
            int[] first = new int[400_000], second = new int[400_000];
            Expect.Throws<DanglingReferenceException>(() => sum(first, second, () => Heap.Delete(deleteRight ? second : first)));
            Heap.Delete(deleteRight ? first : second);
        }
    }

    private static void HoldsWhatMoves()
    {
        int[] left = [7], right = [3, 2];
        OnTheStack(() => SumOfFields(left, right, DoNothing), 10);
        OnTheStack(() => SumOfElements(left, right, 0, DoNothing), 10);
        Action promote = () => Heap.Compact();
        for (int round = 0; round < 20; round++)
        {
            // Neighbours that die, so that the blocks are worth leaving.
            int[][] many = [.. Enumerable.Range(0, 4000).Select(i => new[] { i, i + 1 })];
            for (int i = 0; i < many.Length; i++)
            {
                if (i % 10 != 0)
                    Heap.Delete(many[i]);
            }
            Expect.Equal(10 + 21 + 1, SumOfFields(many[10], many[20], promote));
            Expect.Equal(30 + 41 + 1, SumOfElements(many[30], many[40], round % 2, promote));
            Expect.Equal(50 + 61 + 1, SumOfBox(many[50], many[60], promote));
            Expect.Equal(70 + 81 + 1, SumInHandler(many[70], many[80], promote));
            for (int i = 0; i < many.Length; i += 10)
                Heap.Delete(many[i]);
        }
    }

    // Only the object on the stack leads to the array, while what no root reaches is deleted.
    [MethodImpl(NotInlined)]
    private static int Held(int[]?[] source, int at, Action between)
    {
        int[][] held = [source[at]!, source[at + 1]!];
        object box = new Tagged { Array = source[at + 2]! };
        System.Array.Clear(source);
        between();
        source[at] = held[at];
        source[at + 1] = held[at + 1];
        source[at + 2] = ((Tagged)box).Array;
        return held[at][0] + held[1 - at][0] + ((Tagged)box).Array[0];
    }

    private static void KeepsAlive()
    {
        int[]?[] source = [[7], [3], [2]];
        OnTheStack(() => Held(source, 0, DoNothing), 12);
        for (int i = 0; i < 20; i++)
        {
            int[]?[] fresh = [[i], [3], [2]];
            Expect.Equal(i + 5, Held(fresh, 0, GC.Collect));
            Expect.Equal(i + 5, Held(fresh, 0, () => Heap.Reclaim()));
            Expect.Equal(i, fresh[0]![0]);
        }
    }

    // Before .NET 10 all of it is on the heap, and four threads outrun the reclaim.
#if NET10_0_OR_GREATER
    private const int Compactions = 50;
#else
    private const int Compactions = 3;
#endif

    private static void OnManyThreads()
    {
        int[] left = [7], right = [3, 2];
        OnTheStack(() => SumOfElements(left, right, 0, DoNothing), 10);
        bool done = false;
        Thread[] threads = [.. Enumerable.Range(0, 4).Select(id => new Thread(() =>
        {
            int count = 0;
            while (!Volatile.Read(ref done) || count < 100)
            {
                int[] a = [id], b = [1];
                if (SumOfElements(a, b, count & 1, DoNothing) != id + 2 || SumOfFields(a, b, DoNothing) != id + 2 || SumOfBox(a, b, DoNothing) != id + 2)
                    throw new ContractException("wrong sum");
                Heap.Delete(a);
                Heap.Delete(b);
                count++;
            }
        }))];
        foreach (Thread thread in threads)
            thread.Start();
        for (int i = 0; i < Compactions; i++)
        {
            Heap.Compact();
            Thread.Sleep(1);
        }
        Volatile.Write(ref done, true);
        foreach (Thread thread in threads)
            thread.Join();
    }

    // Objects that would not escape but for what is done to them: that needs one of the heap, and they are.

    private static void Deletes()
    {
        OnTheHeap(() => DeleteLeaf(5), 5);
        OnTheHeap(() => DeleteArray(5), 5);
        OnTheHeap(() => DeleteBox(5), 5);
        var leaf = new Leaf(5);
        Heap.Delete(leaf);
        Expect.SecondDeleteThrows(leaf);

        [MethodImpl(NotInlined)]
        static int DeleteLeaf(int number)
        {
            var leaf = new Leaf(number);
            int result = leaf.Number;
            Heap.Delete(leaf);
            return result;
        }

        [MethodImpl(NotInlined)]
        static int DeleteArray(int number)
        {
            int[] array = [number, 2, 3];
            int result = array[0];
            Heap.Delete(array);
            return result;
        }

        [MethodImpl(NotInlined)]
        static int DeleteBox(int number)
        {
            object box = number;
            int result = (int)box;
            Heap.Delete(box);
            return result;
        }
    }

    private static void Compares()
    {
        var other = new Leaf(1);
        OnTheHeap(() => SameAs(other), 2);
        OnTheHeap(() => SameByCall(other), 2);
        OnTheHeap(() => Places(4), 7);
        OnTheStack(() => Boxes(5), 3);

        [MethodImpl(NotInlined)]
        static int SameAs(Leaf other)
        {
            Leaf leaf = new(1), same = leaf;
            return (leaf == other ? 100 : 0) + (leaf == same ? 2 : 0);
        }

        [MethodImpl(NotInlined)]
        static int SameByCall(Leaf other)
        {
            Leaf leaf = new(1), same = leaf;
            return (ReferenceEquals(leaf, other) ? 100 : 0) + (ReferenceEquals(leaf, same) ? 2 : 0);
        }

        [MethodImpl(NotInlined)]
        static int Places(int number)
        {
            int[] left = [number, 2, 3], right = [number, 2, 3];
            return (Unsafe.AreSame(ref left[0], ref right[0]) ? 100 : 1) + (Unsafe.AreSame(ref left[1], ref left[1]) ? 2 : 0)
                + (Unsafe.ByteOffset(ref left[0], ref left[2]) == 8 ? 4 : 0);
        }

        [MethodImpl(NotInlined)]
        static int Boxes(int number)
        {
            object box = number;
            return (box.Equals(5) ? 1 : 0) + (box.Equals(6) ? 100 : 2);
        }
    }

    private static void HasAHeader()
    {
        OnTheHeap(() => Lock(4), 6);
        OnTheHeap(() => Hash(4), 4);

        [MethodImpl(NotInlined)]
        static int Lock(int number)
        {
            DirtyTheStack();
            var leaf = new Leaf(number);
            lock (leaf)
            {
                leaf.Number++;
                if (!Monitor.IsEntered(leaf))
                    return -1;
            }
            return Monitor.IsEntered(leaf) ? -2 : leaf.Number + 1;
        }

        [MethodImpl(NotInlined)]
        static int Hash(int number)
        {
            DirtyTheStack();
            var leaf = new Leaf(number);
            int hash = RuntimeHelpers.GetHashCode(leaf);
            DirtyTheStack();
            return hash != 0 && leaf.GetHashCode() == hash ? leaf.Number : -1;
        }
    }

    private static void Handles()
    {
        OnTheHeap(() => Weak(4), 4);
        OnTheHeap(() => Strong(4), 4);

        [MethodImpl(NotInlined)]
        static int Weak(int number)
        {
            var leaf = new Leaf(number);
            GCHandle handle = GCHandle.Alloc(leaf, GCHandleType.Weak);
            int result = leaf.Number;
            if (handle.Target is not Leaf)
                return -1;
            Heap.Delete(leaf);
            if (handle.Target is not null)
                return -2;
            handle.Free();
            return result;
        }

        [MethodImpl(NotInlined)]
        static int Strong(int number)
        {
            GCHandle handle = GCHandle.Alloc(new Leaf(number));
            int result = ((Leaf)handle.Target!).Number;
            Heap.Delete(handle.Target);
            handle.Free();
            return result;
        }
    }

    private static unsafe void Pins()
    {
        OnTheHeap(() => Fixed(4, DoNothing), 9);
        OnTheHeap(() => FixedField(4, DoNothing), 5);
        OnTheHeap(() => Handle(4, DoNothing), 9);
        for (int i = 0; i < 20; i++)
        {
            Action promote = () => Heap.Compact();
            Expect.Equal(9, Fixed(4, promote));
            Expect.Equal(5, FixedField(4, promote));
            Expect.Equal(9, Handle(4, promote));
        }

        [MethodImpl(NotInlined)]
        static int Fixed(int number, Action between)
        {
            int[] array = [number, 2, 3];
            fixed (int* first = array)
            {
                between();
                first[0]++;
                between();
                return first == Unsafe.AsPointer(ref array[0]) ? array[0] + 4 : -1;
            }
        }

        [MethodImpl(NotInlined)]
        static int FixedField(int number, Action between)
        {
            var leaf = new Leaf(number);
            fixed (int* place = &leaf.Number)
            {
                between();
                ++*place;
                return leaf.Number;
            }
        }

        [MethodImpl(NotInlined)]
        static int Handle(int number, Action between)
        {
            int[] array = [number, 2, 3];
            GCHandle handle = GCHandle.Alloc(array, GCHandleType.Pinned);
            between();
            ((int*)handle.AddrOfPinnedObject())[0]++;
            between();
            handle.Free();
            return array[0] + 4;
        }
    }

    private static void Exchanges()
    {
        int[] a = [1, 2], b = [3, 4];
        OnTheHeap(() => Compare(a, b), 3);
        OnTheHeap(() => Exchange(a, b), 4);

        [MethodImpl(NotInlined)]
        static int Compare(int[] a, int[] b)
        {
            var pair = new Pair(a, b);
            return Interlocked.CompareExchange(ref pair.Left, b, a) == a ? pair.Left[0] : -1;
        }

        [MethodImpl(NotInlined)]
        static int Exchange(int[] a, int[] b)
        {
            var pair = new Pair(a, b);
            return Interlocked.Exchange(ref pair.Left, b)[0] + pair.Left[0];
        }
    }
}
