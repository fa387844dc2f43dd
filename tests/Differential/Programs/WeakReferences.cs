namespace Freehold.Differential.Programs;

/// <summary>Weak references whose targets stay alive.</summary>
internal static partial class WeakReferences
{
    public static void Run()
    {
        string[] targets = [.. Enumerable.Range(0, 5_000).Select(i => "target" + i)];
        var weak = new List<WeakReference<string>>();
        var old = new List<WeakReference>();
        foreach (string target in targets)
        {
            weak.Add(new WeakReference<string>(target));
            old.Add(new WeakReference(target, trackResurrection: target.Length % 2 == 0));
        }
        GC.Collect();
        int alive = 0;
        for (int i = 0; i < targets.Length; i++)
        {
            alive += weak[i].TryGetTarget(out string? target) && ReferenceEquals(target, targets[i]) ? 1 : 0;
            alive += old[i].IsAlive && ReferenceEquals(old[i].Target, targets[i]) ? 1 : 0;
            weak[i].SetTarget(targets[(i + 1) % targets.Length]);
        }
        Console.WriteLine(alive);
        Console.WriteLine(weak.Where((reference, i) => reference.TryGetTarget(out string? target) && ReferenceEquals(target, targets[(i + 1) % targets.Length])).Count());
        Console.WriteLine(old.Count(reference => reference.TrackResurrection));
        old[0].Target = null;
        Console.WriteLine(old[0].IsAlive);
        weak[1].SetTarget(null!);
        Console.WriteLine(weak[1].TryGetTarget(out _));
        var handle = System.Runtime.InteropServices.GCHandle.Alloc(targets, System.Runtime.InteropServices.GCHandleType.Weak);
        Console.WriteLine(ReferenceEquals(handle.Target, targets));
        handle.Free();
        GC.KeepAlive(targets);
    }
}
