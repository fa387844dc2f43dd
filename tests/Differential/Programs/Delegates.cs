namespace Freehold.Differential.Programs;

/// <summary>Multicast delegates, events, closures, method groups and comparisons.</summary>
internal static partial class Delegates
{
    private sealed class Publisher
    {
        private readonly List<string> _log = [];

        public event EventHandler<int>? Changed;

        public event Action? Closing
        {
            add => _log.Add("add " + value!.Method.Name);
            remove => _log.Add("remove " + value!.Method.Name);
        }

        public int Count => _log.Count;

        public void Raise(int value) => Changed?.Invoke(this, value);
    }

    private sealed class Listener(int id)
    {
        public long Total;

        public void On(object? sender, int value) => Total += value * id;
    }

    public static void Run()
    {
        var publisher = new Publisher();
        Listener[] listeners = [.. Enumerable.Range(1, 40).Select(id => new Listener(id))];
        foreach (Listener listener in listeners)
            publisher.Changed += listener.On;
        for (int i = 0; i < 5_000; i++)
        {
            publisher.Raise(i);
            if (i % 200 == 0)
            {
                publisher.Changed -= listeners[i / 200].On;
                publisher.Changed += listeners[(i / 200 + 5) % 40].On;
            }
        }
        Console.WriteLine(listeners.Sum(listener => listener.Total));
        publisher.Closing += Console.Out.Flush;
        publisher.Closing -= Console.Out.Flush;
        Console.WriteLine(publisher.Count);
        var actions = new List<Func<int>>();
        for (int i = 0; i < 2_000; i++)
        {
            int copy = i;
            actions.Add(() => copy += i % 2);
        }
        Console.WriteLine(actions.Sum(action => action() + action()));
        Func<int, int> compose = x => x;
        for (int i = 0; i < 500; i++)
        {
            Func<int, int> inner = compose;
            int step = i;
            compose = x => inner(x) + step % 3;
        }
        Console.WriteLine(compose(10));
        Func<string, int> one = int.Parse;
        Func<string, int> two = int.Parse;
        Console.WriteLine((one == two) + " " + one("41") + " " + new Func<string>("bound".ToUpperInvariant)() + " " + ReferenceEquals(one.Target, two.Target));
        Func<int>? chain = null;
        for (int i = 0; i < 10; i++)
        {
            int value = i;
            chain += () => value * value;
        }
        Console.WriteLine(chain!.GetInvocationList().Length + " " + chain() + " " + string.Join(',', chain.GetInvocationList().Select(item => ((Func<int>)item)())));
        unsafe
        {
            delegate*<int, int, int> pointer = &Add;
            Console.WriteLine(pointer(40, 2));
        }
    }

    private static int Add(int left, int right) => left + right;
}
