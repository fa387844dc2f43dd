namespace Freehold.Benchmarks;

/// <summary>Runs the parts of a measured program at once: each on a thread of its own, or the only one on this.</summary>
internal static class Workers
{
    public static void Run<T>(T[] parts, Action<T> action)
    {
        if (parts.Length == 1)
        {
            action(parts[0]);
            return;
        }

        using var start = new Barrier(parts.Length);
        Exception? failure = null;
        var running = parts.Select(part => new Thread(() =>
        {
            try
            {
                start.SignalAndWait();
                action(part);
            }
            catch (Exception e)
            {
                failure = e;
            }
        })).ToArray();
        foreach (var thread in running)
        {
            thread.Start();
        }

        foreach (var thread in running)
        {
            thread.Join();
        }

        if (failure is not null)
        {
            throw new InvalidOperationException("A worker failed.", failure);
        }
    }
}
