namespace Freehold.Differential.Programs;

/// <summary>Multi-dimensional, jagged and large arrays.</summary>
internal static partial class ArrayShapes
{
    public static void Run()
    {
        double[,] left = new double[120, 120], right = new double[120, 120], product = new double[120, 120];
        for (int i = 0; i < 120; i++)
        {
            for (int j = 0; j < 120; j++)
            {
                left[i, j] = i + j % 7;
                right[i, j] = i - j % 5;
            }
        }
        for (int i = 0; i < 120; i++)
        {
            for (int j = 0; j < 120; j++)
            {
                double total = 0;
                for (int k = 0; k < 120; k++)
                    total += left[i, k] * right[k, j];
                product[i, j] = total;
            }
        }
        var sum = new Checksum();
        foreach (double value in product)
            sum.Add(value);
        Console.WriteLine(sum);
        string[][] jagged = [.. Enumerable.Range(0, 300).Select(i => Enumerable.Range(0, i).Select(j => "c" + (i ^ j)).ToArray())];
        Console.WriteLine(jagged.Sum(row => row.Sum(cell => cell.Length)));
        object[,,] cube = new object[10, 11, 12];
        for (int i = 0; i < cube.Length; i++)
            cube[i % 10, i / 10 % 11, i / 110] = "o" + i;
        Console.WriteLine(cube.Cast<string>().Sum(text => text.Length) + " " + cube.GetUpperBound(2) + " " + cube.Rank);
        int[] large = new int[5_000_000];
        for (int i = 0; i < large.Length; i += 1_000)
            large[i] = i;
        Console.WriteLine(large.Sum(value => (long)value));
        Array.Resize(ref large, 100_000);
        Array.Reverse(large);
        Array.Copy(large, 10, large, 20, 50_000);
        Array.Clear(large, 60_000, 100);
        Console.WriteLine(large.Sum(value => (long)value) + " " + Array.IndexOf(large, 3_000) + " " + Array.FindLastIndex(large, value => value > 0));
        object[] references = new object[50_000];
        for (int i = 0; i < references.Length; i++)
            references[i] = i % 2 == 0 ? "even" : i;
        Array.Copy(references, 0, references, 1, references.Length - 1);
        object[] clone = (object[])references.Clone();
        Console.WriteLine(clone.OfType<int>().Sum(value => (long)value) + " " + ReferenceEquals(clone[1_001], references[1_001]));
        Array made = Array.CreateInstance(typeof(int), 3, 5);
        made.SetValue(9, 2, 4);
        Console.WriteLine(made.GetLowerBound(0) + " " + made.GetValue(2, 4));
        try
        {
            product[120, 0] = 1;
        }
        catch (IndexOutOfRangeException)
        {
            Console.WriteLine("bounds");
        }
        Buffer.BlockCopy(new[] { 1, 2, 3 }, 4, large, 0, 8);
        Console.WriteLine(large[0] + large[1]);
    }
}
