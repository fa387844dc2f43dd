using System.Buffers;

namespace Freehold.Differential.Programs;

/// <summary>Shared and private array pools, memory pools, rented buffers in rotation.</summary>
internal static partial class ArrayPools
{
    public static void Run()
    {
        var random = new Random(15);
        ArrayPool<int> own = ArrayPool<int>.Create(1 << 16, 8);
        var rented = new List<(int[] Array, int Length, int Seed)>();
        var sum = new Checksum();
        for (int i = 0; i < 4_000; i++)
        {
            if (rented.Count < 20 && random.Next(3) > 0)
            {
                int length = random.Next(1, 5_000);
                int[] array = (i % 2 == 0 ? own : ArrayPool<int>.Shared).Rent(length);
                for (int j = 0; j < length; j++)
                    array[j] = i ^ j;
                rented.Add((array, length, i));
            }
            else if (rented.Count > 0)
            {
                int index = random.Next(rented.Count);
                (int[] array, int length, int seed) = rented[index];
                rented.RemoveAt(index);
                for (int j = 0; j < length; j++)
                {
                    if (array[j] != (seed ^ j))
                        throw new InvalidDataException("buffer was shared");
                }
                sum.Add(array[length - 1]);
                (seed % 2 == 0 ? own : ArrayPool<int>.Shared).Return(array, clearArray: seed % 5 == 0);
            }
        }
        Console.WriteLine(sum);
        string[] strings = ArrayPool<string>.Shared.Rent(100);
        strings[3] = "kept";
        ArrayPool<string>.Shared.Return(strings, clearArray: true);
        Console.WriteLine(strings[3] is null);
        using (IMemoryOwner<byte> owner = MemoryPool<byte>.Shared.Rent(10_000))
        {
            owner.Memory.Span.Fill(3);
            Console.WriteLine(owner.Memory.Span[..10_000].ToArray().Sum(value => value));
        }
        byte[][] all = [.. Enumerable.Range(0, 50).Select(i => ArrayPool<byte>.Shared.Rent(1 << (i % 12 + 4)))];
        Console.WriteLine(all.Distinct().Count());
        foreach (byte[] array in all)
            ArrayPool<byte>.Shared.Return(array);
    }
}
