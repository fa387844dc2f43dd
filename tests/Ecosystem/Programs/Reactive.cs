using System.Reactive.Linq;
using System.Reactive.Subjects;

namespace Freehold.Differential.Programs;

/// <summary>System.Reactive: chains of observers, groups, windows, timers and schedulers.</summary>
internal static class Reactive
{
    public static void Run()
    {
        var numbers = new Subject<int>();
        var results = new List<string>();
        using IDisposable sums = numbers.Where(x => x % 3 == 0).Buffer(10).Select(some => some.Sum()).Scan((all, x) => all + x).Subscribe(x => results.Add(x.ToString()));
        using IDisposable groups = numbers.GroupBy(x => x % 7).SelectMany(group => group.Window(20).SelectMany(window => window.Sum().Select(sum => group.Key + ":" + sum))).Subscribe(results.Add);
        for (int i = 0; i < 50_000; i++)
            numbers.OnNext(i);
        numbers.OnCompleted();
        var digest = new Checksum();
        results.ForEach(digest.Add);
        Console.WriteLine($"{results.Count} {digest}");
        Console.WriteLine(Observable.Range(0, 10_000).SelectMany(x => Observable.Start(() => x * 2)).Sum().Wait());
        Console.WriteLine(Observable.Interval(TimeSpan.FromMilliseconds(1)).Take(50).Merge(Observable.Timer(TimeSpan.FromMilliseconds(5)).Select(_ => 1000L)).Sum().Wait());
        Console.WriteLine(Observable.Throw<int>(new InvalidOperationException("once")).Retry(3).Catch((InvalidOperationException exception) => Observable.Return(exception.Message.Length)).Wait());
    }
}
