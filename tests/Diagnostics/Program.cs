using Freehold.Diagnostics;

var verbs = new Dictionary<string, Action>
{
    ["instruments"] = Metrics.Instruments,
    ["opentelemetry"] = Metrics.OpenTelemetry,
    ["only-when-asked"] = Metrics.OnlyWhenAsked,
    ["throwing-listener"] = Metrics.ThrowingListener,
    ["from-the-start"] = Metrics.FromTheStart,
    ["one-moment"] = Metrics.OneMoment,
    ["runtime-meter"] = Metrics.OfTheRuntime,
    ["cost"] = Metrics.Cost,
    ["serve"] = Served.Run,
    ["stay"] = () => Thread.Sleep(Timeout.Infinite),
    ["deaths"] = Deaths.Run,
    ["deaths-short"] = Deaths.RunShort,
    ["deaths-for-ever"] = Deaths.RunForEver,
    ["deaths-fork"] = Deaths.Fork,
    ["deaths-without-room"] = ManyDeaths.Run,
    ["events"] = Events.OfTheHeap,
    ["leak-events"] = Events.Leaks,
    ["pressure-events"] = Events.Pressure,
    ["runtime-events"] = Events.OfTheRuntime,
};
if (args.Length != 1 || !verbs.TryGetValue(args[0], out Action? verb))
{
    Console.Error.WriteLine("usage: Diagnostics VERB; verbs: " + string.Join(", ", verbs.Keys));
    return 2;
}

if (!Heap.IsManual)
{
    Console.Error.WriteLine("this is not Freehold's heap");
    return 2;
}

verb();
if (args[0] is not ("instruments" or "serve"))
    Console.WriteLine("ok");
return 0;
