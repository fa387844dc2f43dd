using System.Text;

namespace Freehold.Differential.Programs;

/// <summary>Work buffers deleted between uses: copies, text, streams, sorting.</summary>
internal static partial class DeleteBuffers
{
    public static void Run()
    {
        var sum = new Checksum();
        var random = new Random(25);
        byte[] carried = [1];
        for (int i = 0; i < 3_000; i++)
        {
            byte[] next = new byte[random.Next(1, 12_000)];
            carried.AsSpan(0, Math.Min(carried.Length, next.Length)).CopyTo(next);
            Manual.Delete(carried);
            for (int j = 0; j < next.Length; j += 97)
                next[j] += (byte)i;
            sum.Add(next[next.Length / 2] + next.Length);
            carried = next;
        }
        sum.Add(carried);
        Console.WriteLine(sum);
        for (int i = 0; i < 1_000; i++)
        {
            char[] characters = new char[i % 700 + 1];
            Array.Fill(characters, (char)('a' + i % 26));
            string text = new(characters);
            Manual.Delete(characters);
            byte[] bytes = Encoding.UTF8.GetBytes(text + "\u00e9");
            Manual.Delete(text);
            string back = Encoding.UTF8.GetString(bytes);
            Manual.Delete(bytes);
            sum.Add(back);
            Manual.Delete(back);
            var builder = new StringBuilder();
            for (int j = 0; j < 20; j++)
                builder.Append(i * j).Append(' ');
            string built = builder.ToString();
            Manual.Delete(builder);
            sum.Add(built);
            Manual.Delete(built);
            // At least one: an empty array is a shared object.
            int[] numbers = [.. Enumerable.Range(0, i % 300 + 1).Select(n => n * 7919 % 1_009)];
            Array.Sort(numbers);
            sum.Add(numbers[^1]);
            Manual.Delete(numbers);
            var stream = new MemoryStream();
            stream.Write("abcdefgh"u8);
            byte[] inner = stream.GetBuffer();
            sum.Add(stream.Length);
            stream.Dispose();
            Manual.Delete(inner);
            Manual.Delete(stream);
        }
        Console.WriteLine(sum);
    }
}
