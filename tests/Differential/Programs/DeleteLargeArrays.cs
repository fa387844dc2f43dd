namespace Freehold.Differential.Programs;

/// <summary>Large arrays of bytes, structures and references, deleted between uses.</summary>
internal static partial class DeleteLargeArrays
{
    private struct Row
    {
        public long Id;
        public string? Name;
        public double Value;
    }

    public static void Run()
    {
        var sum = new Checksum();
        for (int i = 0; i < 120; i++)
        {
            byte[] bytes = new byte[40_000 + i * 9_999];
            if (bytes.AsSpan().ContainsAnyExcept((byte)0))
                throw new InvalidDataException("memory was not zero");
            new Random(i).NextBytes(bytes.AsSpan(0, 50));
            bytes[^1] = (byte)i;
            sum.Add(bytes[25] + bytes[^1]);
            Manual.Delete(bytes);
        }
        Console.WriteLine(sum);
        var live = new List<Row[]>();
        for (int i = 0; i < 150; i++)
        {
            var rows = new Row[2_000 + i * 37];
            for (int j = 0; j < rows.Length; j += 10)
                rows[j] = new Row { Id = j, Name = j % 100 == 0 ? "row" + j : null, Value = j / 2.0 };
            live.Add(rows);
            if (live.Count > 10)
            {
                Row[] dead = live[i % 10];
                live.RemoveAt(i % 10);
                foreach (ref Row row in dead.AsSpan())
                {
                    if (row.Name is not null)
                    {
                        sum.Add(row.Name);
                        Manual.Delete(row.Name);
                    }
                }
                sum.Add(dead.Length);
                Manual.Delete(dead);
            }
        }
        Console.WriteLine(sum);
        object[] references = new object[100];
        for (int size = 100; size < 300_000; size = size * 3 / 2)
        {
            object[] grown = new object[size];
            Array.Copy(references, grown, Math.Min(references.Length, size));
            Manual.Delete(references);
            for (int i = 0; i < size; i += 3)
                grown[i] ??= "r" + i % 50;
            references = grown;
        }
        foreach (object item in references)
            sum.Add((string?)item ?? "-");
        Console.WriteLine(sum);
        var list = new List<int[]>();
        for (int i = 0; i < 400; i++)
        {
            list.Add(GC.AllocateUninitializedArray<int>(20_000));
            list[^1][19_999] = i;
            if (i % 4 == 3)
            {
                Manual.Delete(list[^3]);
                list.RemoveAt(list.Count - 3);
            }
        }
        Console.WriteLine(list.Sum(array => array[19_999]));
    }
}
