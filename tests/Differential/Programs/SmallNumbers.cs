using System.Numerics;

namespace Freehold.Differential.Programs;

/// <summary>Half, Int128, checked arithmetic, bits, and floating point text.</summary>
internal static partial class SmallNumbers
{
    public static void Run()
    {
        var sum = new Checksum();
        for (int i = 0; i < 65_536; i += 3)
        {
            Half half = BitConverter.UInt16BitsToHalf((ushort)i);
            sum.Add((double)(half * (Half)1.5));
        }
        Console.WriteLine(sum);
        Int128 large = Int128.MaxValue / 3;
        UInt128 unsigned = UInt128.MaxValue;
        for (int i = 1; i < 3_000; i++)
        {
            large = large * 31 / 7 + i;
            unsigned = unsigned / 3 * 5 + (UInt128)(uint)i;
            sum.Add((long)(ulong)(large >> 17) ^ (long)(ulong)unsigned);
        }
        Console.WriteLine(large + " " + unsigned + " " + sum);
        for (int i = 0; i < 10_000; i++)
        {
            double value = BitConverter.Int64BitsToDouble(i * 0x1234567890ABCDL);
            string text = value.ToString("R");
            if (double.Parse(text) != value && !double.IsNaN(value))
                Console.WriteLine("lost " + text);
            sum.Add(text);
        }
        Console.WriteLine(sum);
        int overflows = 0;
        for (int i = 0; i < 1_000; i++)
        {
            try
            {
                overflows += checked((short)(i * 100)) > 0 ? 0 : 0;
            }
            catch (OverflowException)
            {
                overflows++;
            }
        }
        Console.WriteLine(overflows);
        Console.WriteLine(BitOperations.PopCount(0xF0F0) + " " + BitOperations.LeadingZeroCount(1u) + " " + BitOperations.Log2(1_000) + " " + Math.BigMul(long.MaxValue, 77, out long low) + " " + low);
        Console.WriteLine(Math.Round(2.5) + " " + Math.Round(-3.5, MidpointRounding.AwayFromZero) + " " + Math.IEEERemainder(10, 3) + " " + MathF.Cbrt(27) + " " + double.Epsilon + " " + float.MaxValue + " " + (0.1 + 0.2));
        Console.WriteLine(Convert.ToString(-5, 2).Length + " " + Convert.ToInt32("7f", 16) + " " + int.Parse("-2_1".Replace("_", "")) + " " + ulong.MaxValue.ToString("N0") + " " + char.GetNumericValue('7'));
    }
}
