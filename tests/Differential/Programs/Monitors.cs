using System.Runtime.CompilerServices;

namespace Freehold.Differential.Programs;

/// <summary>lock, Monitor.Wait and Pulse, recursion, and objects that are both hashed and locked.</summary>
internal static partial class Monitors
{
    private sealed class Bounded<T>(int capacity)
    {
        private readonly Queue<T> _items = new();

        public void Put(T item)
        {
            lock (_items)
            {
                while (_items.Count == capacity)
                    Monitor.Wait(_items);
                _items.Enqueue(item);
                Monitor.PulseAll(_items);
            }
        }

        public T Take()
        {
            lock (_items)
            {
                while (_items.Count == 0)
                    Monitor.Wait(_items);
                T item = _items.Dequeue();
                Monitor.PulseAll(_items);
                return item;
            }
        }
    }

    public static void Run()
    {
        var bounded = new Bounded<string>(4);
        long taken = 0;
        Thread[] threads = [.. Enumerable.Range(0, 6).Select(id => new Thread(() =>
        {
            for (int i = 0; i < 1_000; i++)
            {
                if (id % 2 == 0)
                    bounded.Put("item" + id + i);
                else
                    Interlocked.Add(ref taken, bounded.Take().Length);
            }
        }))];
        Array.ForEach(threads, thread => thread.Start());
        Array.ForEach(threads, thread => thread.Join());
        Console.WriteLine(taken);
        object[] gates = [.. Enumerable.Range(0, 200).Select(_ => new object())];
        int[] hashes = [.. gates.Select((gate, i) => i % 2 == 0 ? RuntimeHelpers.GetHashCode(gate) : 0)];
        int[] counts = new int[gates.Length];
        Thread[] lockers = [.. Enumerable.Range(0, 4).Select(id => new Thread(() =>
        {
            var random = new Random(id);
            for (int i = 0; i < 20_000; i++)
            {
                int index = random.Next(gates.Length);
                lock (gates[index])
                {
                    counts[index]++;
                    if (i % 3 == 0)
                    {
                        lock (gates[index])
                            counts[index]++;
                    }
                }
            }
        }))];
        Array.ForEach(lockers, thread => thread.Start());
        Array.ForEach(lockers, thread => thread.Join());
        bool stable = gates.Select((gate, i) => i % 2 != 0 || RuntimeHelpers.GetHashCode(gate) == hashes[i]).All(same => same);
        Console.WriteLine(counts.Sum() + " " + stable);
        Console.WriteLine(Monitor.TryEnter(gates[0]) + " " + Monitor.IsEntered(gates[0]) + " " + Task.Run(() => Monitor.TryEnter(gates[0], 1)).Result);
        Monitor.Exit(gates[0]);
        try
        {
            Monitor.Exit(gates[0]);
        }
        catch (SynchronizationLockException)
        {
            Console.WriteLine("not held");
        }
        Console.WriteLine(Task.Run(() =>
        {
            lock (gates[1])
                return Monitor.Wait(gates[1], 2);
        }).Result);
        var modern = new Lock();
        int total = 0;
        Parallel.For(0, 5_000, _ =>
        {
            lock (modern)
                total++;
        });
        Console.WriteLine(total + " " + modern.IsHeldByCurrentThread);
    }
}
