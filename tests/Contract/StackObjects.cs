using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Freehold.Contract;

/// <summary>
/// Objects that do not escape, which the compiler of .NET 10 puts on the stack: whatever is done to an object that needs the heap makes it one of the heap, and references that
/// such an object holds are as good as any.
/// </summary>
internal static class StackObjects
{
    private sealed class Pair(int[] left, int[] right)
    {
        public int[] Left = left;
        public int[] Right = right;

        public int Sum() => Left[0] + Right[^1];
    }

    public static IEnumerable<Case> All()
    {
        yield return new("stack-delete", _ => Deletes());
        yield return new("stack-identity", _ => Compares());
        yield return new("stack-header", _ => HasAHeader());
        yield return new("stack-handles", _ => Handles());
        yield return new("stack-pin", _ => Pins());
        yield return new("stack-dangling", _ => HoldsADeletedOne());
        yield return new("stack-moving", _ => HoldsWhatMoves());
    }

    private static void Deletes()
    {
        for (int i = 0; i < 100; i++)
        {
            Heap.Delete(new Pair([i], [i]));
            Heap.Delete(new int[4]);
            Heap.Delete((object)i);
        }
        var pair = new Pair([1], [2]);
        Expect.Equal(3, pair.Sum());
        Heap.Delete(pair);
        Expect.SecondDeleteThrows(pair);
    }

    private static void Compares()
    {
        var a = new Pair([1], [2]);
        var b = new Pair([1], [2]);
        Pair same = a;
        Expect.True(a != b);
        Expect.True(a == same);
        Expect.True(!ReferenceEquals(a, b) && ReferenceEquals(a, same));
        int[] left = [1, 2, 3], right = [1, 2, 3];
        Expect.True(!Unsafe.AreSame(ref left[0], ref right[0]) && Unsafe.AreSame(ref left[1], ref left[1]));
        Expect.Equal((nint)8, Unsafe.ByteOffset(ref left[0], ref left[2]));
        object box = 5;
        Expect.True(box.Equals(5) && !ReferenceEquals(box, (object)5));
    }

    private static void HasAHeader()
    {
        var pair = new Pair([1], [2]);
        int hash = RuntimeHelpers.GetHashCode(pair);
        lock (pair)
        {
            Expect.True(Monitor.IsEntered(pair));
            Expect.Equal(hash, RuntimeHelpers.GetHashCode(pair));
        }
        Expect.True(!Monitor.IsEntered(pair));
        Expect.Equal(3, pair.Sum());
    }

    private static void Handles()
    {
        var pair = new Pair([1], [2]);
        var weak = new WeakReference<Pair>(pair);
        Expect.True(weak.TryGetTarget(out Pair? target) && target == pair);
        Heap.Delete(pair);
        Expect.True(!weak.TryGetTarget(out _));
        GCHandle handle = GCHandle.Alloc(new Pair([3], [4]));
        Expect.Equal(7, ((Pair)handle.Target!).Sum());
        Heap.Delete(handle.Target!);
        handle.Free();
    }

    private static unsafe void Pins()
    {
        int[] array = [1, 2, 3, 4];
        int sum = 0;
        fixed (int* first = array)
        {
            Heap.Promote();
            for (int i = 0; i < array.Length; i++)
                sum += first[i];
        }
        Expect.Equal(10, sum);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int SumOf(int[] left, int[] right, bool delete)
    {
        var pair = new Pair(left, right);
        if (delete)
            Heap.Delete(right);
        return pair.Sum();
    }

    private static void HoldsADeletedOne()
    {
        Expect.Equal(3, SumOf([1], [2], delete: false));
        Expect.Throws<DanglingReferenceException>(() => SumOf([1], new int[400_000], delete: true));
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int SumWhileMoving(int[] left, int[] right)
    {
        var pair = new Pair(left, right);
        int[][] both = [left, right];
        Heap.Promote();
        return pair.Sum() + both[0][0] + both[1][^1] + (both[0] == pair.Left && pair.Right == right ? 100 : 0);
    }

    private static void HoldsWhatMoves()
    {
        for (int round = 0; round < 20; round++)
        {
            // Neighbours that die, so that the blocks are worth leaving.
            int[][] many = [.. Enumerable.Range(0, 4000).Select(i => new[] { i, i + 1 })];
            for (int i = 0; i < many.Length; i++)
            {
                if (i % 10 != 0)
                    Heap.Delete(many[i]);
            }
            Expect.Equal(2 * (10 + 21) + 100, SumWhileMoving(many[10], many[20]));
        }
    }
}
