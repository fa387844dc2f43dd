using Freehold.Collections;

namespace Freehold.Benchmarks;

/// <summary>Loops over all elements, strides and random updates.</summary>
internal static class Linear
{
    private const int Updates = 20_000_000;

    public static void Run(Pairs pairs, int words)
    {
        var array = new long[words];
        var tree = new TreeArray<long>(words);
        for (var i = 0; i < words; i++)
        {
            array[i] = tree[i] = i * 3L;
        }

        pairs.Compare("linear, chunks", () => Sum(array), () =>
        {
            long sum = 0;
            foreach (var chunk in tree.Chunks)
            {
                foreach (var element in chunk)
                {
                    sum += element;
                }
            }

            return sum;
        });
        pairs.Compare("linear, foreach", () => Sum(array), () => Sum(tree));
        var list = new TreeList<long>(words);
        list.AddRange(array);
        pairs.Compare("linear, foreach of a list", () => Sum(array), () => Sum(list));
        Heap.Delete(list);
        pairs.Compare("linear, cursor", () => Sum(array), () =>
        {
            long sum = 0;
            var cursor = tree.Cursor();
            for (var i = 0; i < words; i++)
            {
                sum += cursor[i];
            }

            return sum;
        });
        pairs.Compare("linear, index", () => Sum(array), () =>
        {
            long sum = 0;
            for (var i = 0; i < tree.Length; i++)
            {
                sum += tree[i];
            }

            return sum;
        });
        foreach (var stride in (ReadOnlySpan<int>)[16, 128, 1024])
        {
            Strided(pairs, array, tree, stride);
        }

        pairs.Compare("random updates", () => Update(array), () => Update(tree));
        Heap.Delete(array);
        Heap.Delete(tree);
    }

    // Small enough for the first cache: nothing but instructions.
    public static void RunCached(Pairs pairs)
    {
        const int Words = 2048, Rounds = 20_000;
        var array = new long[Words];
        var tree = new TreeArray<long>(Words);
        pairs.Compare(
            "in the cache, index",
            () =>
            {
                long sum = 0;
                for (var round = 0; round < Rounds; round++)
                {
                    for (var i = 0; i < array.Length; i++)
                    {
                        sum += array[i] ^ round;
                    }
                }

                return sum;
            },
            () =>
            {
                long sum = 0;
                for (var round = 0; round < Rounds; round++)
                {
                    for (var i = 0; i < tree.Length; i++)
                    {
                        sum += tree[i] ^ round;
                    }
                }

                return sum;
            });
        pairs.Compare(
            "in the cache, foreach",
            () =>
            {
                long sum = 0;
                for (var round = 0; round < Rounds; round++)
                {
                    foreach (var element in array)
                    {
                        sum += element ^ round;
                    }
                }

                return sum;
            },
            () =>
            {
                long sum = 0;
                for (var round = 0; round < Rounds; round++)
                {
                    foreach (var element in tree)
                    {
                        sum += element ^ round;
                    }
                }

                return sum;
            });
    }

    public static void RunSort(Pairs pairs)
    {
        const int Count = 4_000_000;
        var random = new Random(7);
        var numbers = new long[Count];
        foreach (ref var number in numbers.AsSpan())
        {
            number = random.NextInt64();
        }

        var array = new long[Count];
        var tree = new TreeArray<long>(Count);
        pairs.Compare(
            "sort",
            () =>
            {
                numbers.CopyTo(array, 0);
                Array.Sort(array);
                return array[Count / 3];
            },
            () =>
            {
                tree.CopyFrom(numbers);
                tree.Sort();
                return tree[Count / 3];
            });
    }

    private static void Strided(Pairs pairs, long[] array, TreeArray<long> tree, int stride) => pairs.Compare(
        $"strided, {stride * 8} bytes",
        () =>
        {
            long sum = 0;
            for (var begin = 0; begin < 8; begin++)
            {
                for (var i = begin; i < array.Length; i += stride)
                {
                    sum += array[i];
                }
            }

            return sum;
        },
        () =>
        {
            long sum = 0;
            var length = tree.Length;
            for (var begin = 0; begin < 8; begin++)
            {
                var cursor = tree.Cursor();
                for (var i = begin; i < length; i += stride)
                {
                    sum += cursor[i];
                }
            }

            return sum;
        });

    private static long Sum(long[] array)
    {
        long sum = 0;
        foreach (var element in array)
        {
            sum += element;
        }

        return sum;
    }

    private static long Sum(TreeArray<long> tree)
    {
        long sum = 0;
        foreach (var element in tree)
        {
            sum += element;
        }

        return sum;
    }

    private static long Sum(TreeList<long> list)
    {
        long sum = 0;
        foreach (var element in list)
        {
            sum += element;
        }

        return sum;
    }

    private static ulong Next(ulong state)
    {
        state ^= state << 13;
        state ^= state >> 7;
        return state ^ (state << 17);
    }

    private static long Update(long[] array)
    {
        var state = 88172645463325252UL;
        var mask = array.Length - 1;
        for (var i = 0; i < Updates; i++)
        {
            state = Next(state);
            array[(int)(state >> 16) & mask] ^= (long)state;
        }

        return array[0];
    }

    private static long Update(TreeArray<long> tree)
    {
        var state = 88172645463325252UL;
        var mask = tree.Length - 1;
        for (var i = 0; i < Updates; i++)
        {
            state = Next(state);
            tree[(int)(state >> 16) & mask] ^= (long)state;
        }

        return tree[0];
    }
}
