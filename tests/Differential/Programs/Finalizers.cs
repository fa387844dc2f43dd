namespace Freehold.Differential.Programs;

/// <summary>What can be said of finalizers whatever the heap: suppression, disposal, registration.</summary>
internal static partial class Finalizers
{
    private class Resource : IDisposable
    {
        public static int Finalized;
        private readonly byte[] _data = new byte[100];
        private bool _open = true;

        ~Resource() => Interlocked.Increment(ref Finalized);

        public int Length => _open ? _data.Length : -1;

        public void Dispose()
        {
            _open = false;
            GC.SuppressFinalize(this);
        }
    }

    public static void Run()
    {
        var kept = new List<Resource>();
        for (int i = 0; i < 20_000; i++)
        {
            using var resource = new Resource();
            if (i % 100 == 0)
                kept.Add(resource);
        }
        GC.Collect();
        GC.WaitForPendingFinalizers();
        Console.WriteLine(Resource.Finalized + " " + kept.Count + " " + kept.Sum(resource => resource.Length));
        var live = new Resource();
        GC.ReRegisterForFinalize(live);
        GC.SuppressFinalize(live);
        GC.Collect();
        GC.WaitForPendingFinalizers();
        Console.WriteLine(live.Length + " " + Resource.Finalized);
        GC.KeepAlive(live);
        try
        {
            GC.SuppressFinalize(null!);
        }
        catch (ArgumentNullException exception)
        {
            Console.WriteLine(exception.ParamName);
        }
        live.Dispose();
        AppDomain.CurrentDomain.ProcessExit += (_, _) => Console.WriteLine("exit " + Resource.Finalized);
    }
}
