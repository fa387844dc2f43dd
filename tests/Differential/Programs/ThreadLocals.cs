namespace Freehold.Differential.Programs;

/// <summary>Thread statics, ThreadLocal, AsyncLocal, data slots and execution contexts.</summary>
internal static partial class ThreadLocals
{
    [ThreadStatic]
    private static int t_count;

    [ThreadStatic]
    private static List<string>? t_list;

    private static readonly ThreadLocal<Dictionary<int, string>> s_local = new(() => [], trackAllValues: true);

    private static readonly AsyncLocal<string> s_flow = new();

    public static void Run()
    {
        string[] results = new string[16];
        Thread[] threads = [.. Enumerable.Range(0, 16).Select(id => new Thread(() =>
        {
            for (int i = 0; i < 3_000; i++)
            {
                t_count += id;
                (t_list ??= []).Add(id + "/" + i);
                s_local.Value![i % 100] = "v" + id + i;
            }
            results[id] = t_count + " " + t_list!.Count + " " + t_list[^1] + " " + s_local.Value!.Count;
        }))];
        foreach (Thread thread in threads)
            thread.Start();
        foreach (Thread thread in threads)
            thread.Join();
        foreach (string result in results)
            Console.WriteLine(result);
        Console.WriteLine(t_count + " " + (t_list is null) + " " + s_local.Values.Sum(value => value.Count));
        Flow().GetAwaiter().GetResult();
        Console.WriteLine(s_flow.Value ?? "none");
        s_flow.Value = "captured";
        ExecutionContext context = ExecutionContext.Capture()!;
        s_flow.Value = "later";
        ExecutionContext.Run(context, _ => Console.WriteLine(s_flow.Value), null);
        Console.WriteLine(s_flow.Value);
        using (ExecutionContext.SuppressFlow())
            Task.Run(() => Console.WriteLine(s_flow.Value ?? "suppressed")).Wait();
        LocalDataStoreSlot slot = Thread.AllocateDataSlot();
        Thread.SetData(slot, "slot data");
        Console.WriteLine(Thread.GetData(slot));
    }

    private static async Task Flow()
    {
        s_flow.Value = "outer";
        string[] inner = await Task.WhenAll(Enumerable.Range(0, 20).Select(async i =>
        {
            s_flow.Value = "inner" + i;
            await Task.Yield();
            await Task.Delay(1);
            return s_flow.Value!;
        }));
        Console.WriteLine(string.Join(',', inner) + " " + s_flow.Value);
    }
}
