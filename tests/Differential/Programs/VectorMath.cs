using System.Numerics;
using System.Runtime.InteropServices;
using System.Runtime.Intrinsics;
using System.Runtime.Intrinsics.X86;

namespace Freehold.Differential.Programs;

/// <summary>Portable and hardware vectors, tensors of floats, matrices.</summary>
internal static partial class VectorMath
{
    public static void Run()
    {
        int[] left = [.. Enumerable.Range(0, 50_003)];
        int[] right = [.. left.Select(value => value * 3 % 1_000)];
        Console.WriteLine(Dot(left, right) + " " + left.Zip(right).Sum(pair => pair.First % 100 * (long)pair.Second));
        byte[] bytes = new byte[70_001];
        new Random(19).NextBytes(bytes);
        int zeros = 0;
        int at = 0;
        for (; at + Vector128<byte>.Count <= bytes.Length; at += Vector128<byte>.Count)
            zeros += BitOperations.PopCount(Vector128.Equals(Vector128.Create(bytes, at), Vector128<byte>.Zero).ExtractMostSignificantBits());
        for (; at < bytes.Length; at++)
            zeros += bytes[at] == 0 ? 1 : 0;
        Console.WriteLine(zeros == bytes.Count(value => value == 0));
        if (Avx2.IsSupported)
        {
            ref byte start = ref MemoryMarshal.GetArrayDataReference(bytes);
            Vector256<byte> max = Vector256<byte>.Zero;
            for (nuint i = 0; i + 32 <= (nuint)bytes.Length; i += 32)
                max = Avx2.Max(max, Vector256.LoadUnsafe(ref start, i));
            Console.WriteLine(max.ToScalar() > 100);
        }
        else
        {
            Console.WriteLine(true);
        }
        Matrix4x4 matrix = Matrix4x4.Identity;
        Vector3 position = Vector3.One;
        for (int i = 0; i < 20_000; i++)
        {
            matrix = Matrix4x4.CreateTranslation(i % 3, 1, -1) * Matrix4x4.CreateScale(0.5f) * matrix;
            position = Vector3.Transform(position, matrix) / 3;
            matrix = i % 10 == 9 ? Matrix4x4.Identity : matrix;
        }
        Console.WriteLine(position.X.ToString("F4") + " " + position.Y.ToString("F4") + " " + Vector3.Cross(Vector3.UnitX, Vector3.UnitY));
        var spinner = Quaternion.CreateFromYawPitchRoll(0.5f, 0, 0);
        Console.WriteLine(Vector3.Transform(Vector3.UnitZ, spinner).X.ToString("F5"));
    }

    private static long Dot(int[] left, int[] right)
    {
        Vector<long> total = Vector<long>.Zero;
        int i = 0;
        for (; i + Vector<int>.Count <= left.Length; i += Vector<int>.Count)
        {
            Vector.Widen(new Vector<int>(left, i) * new Vector<int>(right, i) & new Vector<int>(0xFFFF), out Vector<long> low, out Vector<long> high);
            total += low + high;
        }
        long sum = Vector.Sum(total);
        for (; i < left.Length; i++)
            sum += left[i] * right[i] & 0xFFFF;
        return sum;
    }
}
