using System.Numerics;

namespace Freehold.Differential.Programs;

/// <summary>BigInteger and decimal arithmetic.</summary>
internal static partial class BigNumbers
{
    public static void Run()
    {
        BigInteger factorial = BigInteger.One;
        for (int i = 2; i <= 700; i++)
            factorial *= i;
        string text = factorial.ToString();
        Console.WriteLine(text.Length + " " + text[..40] + " " + text.Sum(digit => digit - '0'));
        BigInteger a = 0, b = 1;
        for (int i = 0; i < 5_000; i++)
            (a, b) = (b, a + b);
        Console.WriteLine(a % 1_000_000_007 + " " + a.GetBitLength());
        BigInteger mersenne = BigInteger.Pow(2, 521) - 1;
        Console.WriteLine(BigInteger.ModPow(3, mersenne - 1, mersenne) + " " + BigInteger.GreatestCommonDivisor(factorial, mersenne + 1).GetBitLength());
        Console.WriteLine(BigInteger.Parse(text) == factorial);
        Console.WriteLine((factorial >> 3_000).GetHashCode() == (BigInteger.Parse(text) >> 3_000).GetHashCode());
        BigInteger quotient = BigInteger.DivRem(factorial, mersenne, out BigInteger remainder);
        Console.WriteLine(quotient * mersenne + remainder == factorial);
        decimal sum = 0;
        for (int i = 1; i <= 20_000; i++)
            sum += 1m / i * (i % 2 == 0 ? -1 : 1);
        Console.WriteLine(sum + " " + decimal.Round(sum, 10, MidpointRounding.ToEven) + " " + decimal.Truncate(sum * 1_000_000));
        decimal money = 1_000.00m;
        for (int i = 0; i < 360; i++)
            money = decimal.Round(money * 1.00375m, 2);
        Console.WriteLine(money);
        try
        {
            Console.WriteLine(decimal.MaxValue + money);
        }
        catch (OverflowException)
        {
            Console.WriteLine("overflow");
        }
        Complex root = Complex.Sqrt(new Complex(-3, 4));
        Console.WriteLine(root.Real + " " + root.Imaginary);
    }
}
