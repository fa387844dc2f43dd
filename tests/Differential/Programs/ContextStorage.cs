using System.Runtime.CompilerServices;

namespace Freehold.Differential.Programs;

/// <summary>What belongs to a thread or flows with the execution: thread statics of generic types, slots, <see cref="ThreadLocal{T}"/>, <see cref="AsyncLocal{T}"/> with handlers.</summary>
internal static partial class ContextStorage
{
    private static class Of<T>
    {
        [ThreadStatic]
        public static T? Value;

        [ThreadStatic]
        public static List<T>? Items;
    }

    private struct Wide
    {
        public string Name;
        public long Number;
        public object Other;
    }

    [ThreadStatic]
    private static Wide t_wide;

    private static readonly AsyncLocal<string?> s_name = new();

    private static int s_changes;

    private static readonly AsyncLocal<object?> s_watched = new(change =>
    {
        if (!ReferenceEquals(change.PreviousValue, change.CurrentValue))
            Interlocked.Increment(ref s_changes);
    });

    public static void Run()
    {
        Threads();
        Slots();
        Locals();
        RunAsync().GetAwaiter().GetResult();
        Contexts();
    }

    private static void Threads()
    {
        var results = new string[12];
        Thread[] threads = [.. Enumerable.Range(0, results.Length).Select(i => new Thread(() =>
        {
            Of<string>.Value = "thread " + i;
            Of<Wide>.Value = new Wide { Name = "wide " + i, Number = i, Other = results };
            t_wide = Of<Wide>.Value;
            long sum = 0;
            for (int n = 0; n < 3_000; n++)
            {
                (Of<object>.Items ??= []).Add(new int[n % 20]);
                (Of<int>.Items ??= []).Add(n);
                ref Wide wide = ref t_wide;
                wide.Number += n;
                wide.Name = n % 500 == 0 ? wide.Name + n : wide.Name;
                if (Of<object>.Items.Count == 200)
                {
                    Of<object>.Items.ForEach(Manual.Delete);
                    Of<object>.Items.Clear();
                }
                sum += ((Array)(Of<object>.Items.Count == 0 ? Array.Empty<int>() : Of<object>.Items[^1])).Length;
            }
            results[i] = $"{Of<string>.Value} {Of<Wide>.Value.Name} {t_wide.Name} {t_wide.Number} {sum} {Of<int>.Items!.Sum()} {ReferenceEquals(t_wide.Other, results)} {Of<double>.Value} {Of<double>.Items is null}";
        }))];
        Array.ForEach(threads, thread => thread.Start());
        Array.ForEach(threads, thread => thread.Join());
        Console.WriteLine(string.Join('\n', results));
        Console.WriteLine(Of<string>.Value ?? "null");
    }

    private static void Slots()
    {
        LocalDataStoreSlot slot = Thread.AllocateDataSlot(), named = Thread.AllocateNamedDataSlot("named");
        Thread.SetData(slot, new List<int> { 1 });
        Thread.SetData(named, "main");
        string text = "";
        var thread = new Thread(() =>
        {
            text = $"{Thread.GetData(slot) ?? "null"} {Thread.GetData(named) ?? "null"}";
            Thread.SetData(Thread.GetNamedDataSlot("named"), 5);
            text += Thread.GetData(named);
        });
        thread.Start();
        thread.Join();
        Console.WriteLine(text + " " + ((List<int>)Thread.GetData(slot)!)[0] + " " + Thread.GetData(named));
        Thread.FreeNamedDataSlot("named");
    }

    private static void Locals()
    {
        using var local = new ThreadLocal<List<string>>(() => ["made"], trackAllValues: true);
        using var recursive = new ThreadLocal<int>(() => Environment.CurrentManagedThreadId * 0 + 7);
        Thread[] threads = [.. Enumerable.Range(0, 20).Select(i => new Thread(() =>
        {
            for (int n = 0; n < 100; n++)
                local.Value!.Add($"{i}");
            recursive.Value += i;
        }))];
        Array.ForEach(threads, thread => thread.Start());
        Array.ForEach(threads, thread => thread.Join());
        Console.WriteLine(local.Values.Count + " " + local.Values.Sum(list => list.Count) + " " + recursive.Value + " " + local.IsValueCreated);
        // Thousands of them: the table of each thread grows.
        ThreadLocal<string>[] many = [.. Enumerable.Range(0, 2_000).Select(i => new ThreadLocal<string>(() => "value " + i))];
        var sum = new Checksum();
        foreach (ThreadLocal<string> one in many)
            sum.Add(one.Value!);
        for (int i = 0; i < many.Length; i += 2)
            many[i].Dispose();
        for (int i = 1; i < many.Length; i += 2)
            sum.Add(many[i].Value!);
        Console.WriteLine(sum);
    }

    private static async Task RunAsync()
    {
        s_name.Value = "outer";
        s_watched.Value = "first";
        string[] seen = await Task.WhenAll(Enumerable.Range(0, 100).Select(async i =>
        {
            string before = s_name.Value!;
            s_name.Value = "inner " + i;
            s_watched.Value = new object();
            await Task.Yield();
            await Nested(i);
            return before + "/" + s_name.Value;
        }));
        Console.WriteLine(s_name.Value + " " + seen.Distinct().Count() + " " + seen[42] + " " + (s_changes > 100) + " " + s_watched.Value);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static async Task Nested(int i)
    {
        if (s_name.Value != "inner " + i)
            throw new InvalidOperationException(s_name.Value);
        s_name.Value = null;
        await Task.Delay(i % 3).ConfigureAwait(false);
    }

    private static void Contexts()
    {
        s_name.Value = "captured";
        ExecutionContext context = ExecutionContext.Capture()!;
        s_name.Value = "changed";
        var sum = new Checksum();
        for (int i = 0; i < 300; i++)
        {
            ExecutionContext.Run(context, state =>
            {
                sum.Add(s_name.Value!);
                s_name.Value = "run " + state;
            }, i);
            sum.Add(s_name.Value!);
        }
        using (ExecutionContext.SuppressFlow())
        {
            Task<string?> task = Task.Run<string?>(() => s_name.Value);
            sum.Add(task.GetAwaiter().GetResult() ?? "suppressed");
        }
        AsyncLocal<int>[] many = [.. Enumerable.Range(0, 60).Select(_ => new AsyncLocal<int>())];
        for (int i = 0; i < 3_000; i++)
            many[i * 7 % many.Length].Value += i;
        Console.WriteLine(sum + " " + many.Sum(one => one.Value));
        ExecutionContext.Restore(context);
        Console.WriteLine(s_name.Value);
    }
}
