using System.Runtime.CompilerServices;
using System.Runtime.Intrinsics;
using System.Runtime.Intrinsics.X86;

namespace Freehold.Differential.Programs;

/// <summary>Vectors of 16 to 64 bytes read and written through references into arrays; masks and gathers through pointers. Where the processor has no such instruction, one by one.</summary>
internal static unsafe class WideVectors
{
    private const int Length = 10_007;

    public static void Run()
    {
        float[] values = [.. Enumerable.Range(0, Length).Select(i => (float)(i % 13))];
        float total = 0;
        for (int round = 0; round < 200; round++)
        {
            total += Sum512(values) + Sum128(values);
            float[] doubled = Doubled(values);
            Manual.Delete(values);
            values = doubled;
            for (int i = 0; i < values.Length; i++)
                values[i] = values[i] > 20 ? 1 : values[i];
        }

        Console.WriteLine(total);
        Console.WriteLine(Gathered() + " " + Masked());
    }

    private static float Sum512(float[] values)
    {
        ref float first = ref values[0];
        var sum = Vector512<float>.Zero;
        for (nuint i = 0; i + 16 <= Length; i += 16)
            sum += Vector512.LoadUnsafe(ref first, i);
        return Vector512.Sum(sum);
    }

    private static float Sum128(float[] values)
    {
        ref float last = ref values[^1];
        var sum = Vector128<float>.Zero;
        for (int i = 3; i < Length; i += 4)
            sum += Vector128.LoadUnsafe(ref Unsafe.Subtract(ref last, i));
        return Vector128.Sum(sum);
    }

    private static float[] Doubled(float[] values)
    {
        float[] doubled = new float[values.Length];
        ref float from = ref values[0];
        ref float to = ref doubled[0];
        for (nuint i = 0; i + 8 <= Length; i += 8)
            (Vector256.LoadUnsafe(ref from, i) * 2f).StoreUnsafe(ref to, i);
        return doubled;
    }

    private static long Gathered()
    {
        long sum = 0;
        int[] values = [.. Enumerable.Range(0, 5000)];
        for (int round = 0; round < 500; round++)
        {
            var indexes = Vector256.Create(1, 5, 9, 100, 1000, 4000, 4999, round);
            fixed (int* first = values)
            {
                for (int i = 0; i < 8; i++)
                    sum += Avx2.IsSupported ? Avx2.GatherVector256(first, indexes, 4)[i] : first[indexes[i]];
            }
        }

        return sum;
    }

    private static long Masked()
    {
        long sum = 0;
        int[] values = new int[64];
        for (int round = 0; round < 1000; round++)
        {
            if (round % 50 == 0)
            {
                int[] copy = (int[])values.Clone();
                Manual.Delete(values);
                values = copy;
            }

            var mask = Vector256.Create(-1, 0, -1, 0, -1, 0, -1, 0);
            fixed (int* place = &values[round % 50])
            {
                if (Avx2.IsSupported)
                {
                    Avx2.MaskStore(place, mask, Vector256.Create(round));
                    sum += Vector256.Sum(Avx2.MaskLoad(place, mask));
                }
                else
                {
                    for (int i = 0; i < 8; i += 2)
                        sum += place[i] = round;
                }
            }
        }

        return sum;
    }
}
