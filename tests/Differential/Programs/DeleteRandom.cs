namespace Freehold.Differential.Programs;

/// <summary>Random replacement in a table of live objects: holes everywhere.</summary>
internal static partial class DeleteRandom
{
    private sealed class Item(int id, Item? friend)
    {
        public readonly int Id = id;
        public Item? Friend = friend;
        public readonly string Text = "item " + id;
        public readonly byte[] Data = new byte[id % 100];
    }

    public static void Run()
    {
        const int size = 20_000;
        var table = new Item?[size];
        var random = new Random(22);
        long total = 0;
        for (int i = 0; i < 300_000; i++)
        {
            int index = random.Next(size);
            if (table[index] is { } old)
            {
                if (old.Text != "item " + old.Id || old.Data.Length != old.Id % 100)
                    throw new InvalidDataException(old.Text);
                total += old.Id;
                table[index] = null;
                Manual.Delete(old.Text);
                Manual.Delete(old.Data);
                Manual.Delete(old);
            }
            table[index] = new Item(i, null);
            if (i % 10_000 == 0)
                GC.Collect();
        }
        var sum = new Checksum();
        foreach (Item? item in table)
            sum.Add(item?.Text ?? "none");
        Console.WriteLine(total + " " + sum);
    }
}
