using System.Buffers.Text;
using System.Text;

namespace Freehold.Differential.Programs;

/// <summary>Seeded random numbers, shuffles, guids and base64.</summary>
internal static partial class GuidsAndRandom
{
    public static void Run()
    {
        var random = new Random(2024);
        var sum = new Checksum();
        byte[] bytes = new byte[16];
        for (int i = 0; i < 10_000; i++)
        {
            random.NextBytes(bytes);
            var guid = new Guid(bytes);
            string text = guid.ToString("nNdDbBpP"[(i % 8)..(i % 8 + 1)]);
            if (Guid.Parse(text) != guid)
                Console.WriteLine("lost " + text);
            sum.Add(text);
            sum.Add(random.Next(5, 500) + random.NextInt64(1L << 40) + (long)(random.NextDouble() * 1_000));
            string base64 = Convert.ToBase64String(bytes);
            if (!Convert.FromBase64String(base64).AsSpan().SequenceEqual(bytes))
                Console.WriteLine("lost " + base64);
            sum.Add(base64);
        }
        Console.WriteLine(sum);
        int[] cards = [.. Enumerable.Range(0, 52)];
        random.Shuffle(cards);
        Console.WriteLine(string.Join(' ', cards));
        Console.WriteLine(string.Join(' ', random.GetItems<string>(["a", "b", "c"], 20)));
        Console.WriteLine(Guid.NewGuid() != Guid.NewGuid());
        Console.WriteLine(Guid.CreateVersion7(DateTimeOffset.UnixEpoch).Version + " " + Guid.Empty);
        Console.WriteLine(Convert.ToHexString(Encoding.UTF8.GetBytes("hex")) + " " + Base64Url.EncodeToString([250, 251, 252, 253]) + " " + Convert.FromHexString("00ff7f").Length);
    }
}
