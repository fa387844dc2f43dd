namespace Freehold.Differential.Programs;

/// <summary>Objects with finalizers, disposed of, suppressed, and deleted.</summary>
internal static partial class DeleteFinalizable
{
    private sealed class Handle : IDisposable
    {
        public static int Open;
        private readonly byte[] _data;
        private bool _closed;

        public Handle(int size)
        {
            Open++;
            _data = new byte[size];
            _data.AsSpan().Fill((byte)size);
        }

        ~Handle() => Close();

        public int Sum() => _data.Sum(value => value);

        public void Dispose()
        {
            Close();
            GC.SuppressFinalize(this);
        }

        private void Close()
        {
            if (_closed)
                return;
            _closed = true;
            Open--;
            Manual.Delete(_data);
        }
    }

    public static void Run()
    {
        long total = 0;
        for (int i = 0; i < 30_000; i++)
        {
            var handle = new Handle(i % 40);
            total += handle.Sum();
            handle.Dispose();
            Manual.Delete(handle);
        }
        Console.WriteLine(total + " " + Handle.Open);
        var kept = new List<Handle>();
        for (int i = 0; i < 2_000; i++)
            kept.Add(new Handle(i));
        for (int i = 0; i < kept.Count; i += 2)
        {
            kept[i].Dispose();
            Manual.Delete(kept[i]);
            kept[i] = new Handle(1);
        }
        Console.WriteLine(kept.Sum(handle => (long)handle.Sum()) + " " + Handle.Open);
        string path = Path.GetTempFileName();
        for (int i = 0; i < 50; i++)
        {
            var stream = new FileStream(path, FileMode.Append);
            stream.WriteByte((byte)i);
            stream.Dispose();
            Manual.Delete(stream);
            byte[] all = File.ReadAllBytes(path);
            total += all.Sum(value => value);
            Manual.Delete(all);
        }
        File.Delete(path);
        Console.WriteLine(total);
        GC.KeepAlive(kept);
    }
}
