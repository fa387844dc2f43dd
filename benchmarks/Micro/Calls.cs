using BenchmarkDotNet.Attributes;

namespace Freehold.Benchmarks;

/// <summary>Calls that look at an object's type, casts, and framework code that compares many references.</summary>
public class Calls
{
    private const int Count = 1024;
    private const int Subscribers = 16;

    private interface ICounter
    {
        int Increment();
    }

    private abstract class Counter : ICounter
    {
        protected int Value;

        public abstract int Step();

        public int Increment() => ++Value;
    }

    private sealed class Subscriber
    {
        private int _sum;

        public void Handle(int value) => _sum += value;
    }

    private sealed class Up : Counter
    {
        public override int Step() => ++Value;
    }

    private sealed class Down : Counter
    {
        public override int Step() => --Value;
    }

    private readonly Counter[] _counters = new Counter[Count];
    private readonly object[] _objects = new object[Count];
    private readonly List<object> _list = new(Count);
    private readonly Dictionary<object, int> _dictionary = new(Count, ReferenceEqualityComparer.Instance);
    private readonly object _absent = new();
    private readonly Action<int>[] _handlers = new Action<int>[Subscribers];
    private readonly Action<int> _absentHandler = new Subscriber().Handle;

    private event Action<int>? Changed;

    public Calls()
    {
        for (var i = 0; i < Subscribers; i++)
        {
            _handlers[i] = new Subscriber().Handle;
            Changed += _handlers[i];
        }

        for (var i = 0; i < Count; i++)
        {
            _counters[i] = i % 2 == 0 ? new Up() : new Down();
            _objects[i] = _counters[i];
            _list.Add(_counters[i]);
            _dictionary.Add(_counters[i], i);
        }
    }

    [Benchmark(OperationsPerInvoke = Count)]
    public long Virtual()
    {
        var sum = 0;
        foreach (var counter in _counters)
        {
            sum += counter.Step();
        }

        return sum;
    }

    [Benchmark(OperationsPerInvoke = Count)]
    public long Interface()
    {
        var sum = 0;
        foreach (ICounter counter in _counters)
        {
            sum += counter.Increment();
        }

        return sum;
    }

    [Benchmark(OperationsPerInvoke = Count)]
    public long Cast()
    {
        var sum = 0;
        foreach (var item in _objects)
        {
            if (item is Counter)
            {
                sum++;
            }
        }

        return sum;
    }

    [Benchmark(OperationsPerInvoke = Count)]
    public long ListIndexOf() => _list.IndexOf(_absent);

    [Benchmark(OperationsPerInvoke = Count)]
    public long DictionaryKeyedByReference()
    {
        var sum = 0;
        foreach (var item in _objects)
        {
            sum += _dictionary[item];
        }

        return sum;
    }

    /// <summary>Each operation is the call of one subscriber.</summary>
    [Benchmark(OperationsPerInvoke = Count)]
    public long EventDispatch()
    {
        for (var i = 0; i < Count / Subscribers; i++)
        {
            Changed!(i);
        }

        return 0;
    }

    /// <summary>What leaving an event does: compares a delegate with others, of equal methods and different targets.</summary>
    [Benchmark(OperationsPerInvoke = Count)]
    public long DelegateEquality()
    {
        var sum = 0;
        var absent = _absentHandler;
        for (var i = 0; i < Count; i++)
        {
            sum += _handlers[i % Subscribers] == absent ? 1 : 0;
        }

        return sum;
    }
}
