namespace Freehold.Differential.Programs;

/// <summary>Objects of many sizes deleted in the order in which they were made.</summary>
internal static partial class DeleteFifo
{
    public static void Run()
    {
        var window = new Queue<byte[]>();
        var sum = new Checksum();
        var random = new Random(20);
        for (int i = 0; i < 200_000; i++)
        {
            byte[] array = new byte[random.Next(0, 600)];
            foreach (byte value in array.AsSpan(0, Math.Min(array.Length, 16)))
                sum.Add((long)value);
            array.AsSpan().Fill((byte)i);
            window.Enqueue(array);
            if (window.Count > 1_000)
            {
                byte[] oldest = window.Dequeue();
                Check(oldest, (byte)(i - 1_000), sum);
                Manual.Delete(oldest);
            }
        }
        Console.WriteLine(sum + " " + window.Count);
        foreach (byte[] array in window)
            Manual.Delete(array);
    }

    private static void Check(byte[] array, byte expected, Checksum sum)
    {
        if (array.AsSpan().ContainsAnyExcept(expected))
            throw new InvalidDataException("contents changed");
        sum.Add(array.Length);
    }
}
