#pragma warning disable CS1591, CS8500, CA1822, IDE0060, CA2201
using System;
using System.Collections;
using System.Collections.Generic;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Text;

namespace Freehold.Compiler.Fixtures;

/// <summary>Where the analysis says that what the first argument refers to goes.</summary>
[AttributeUsage(AttributeTargets.Method)]
public sealed class GoesAttribute(string to) : Attribute
{
    public string To { get; } = to;
}

/// <summary>Golden/Escapes.plan.il says where the method deletes what it makes.</summary>
[AttributeUsage(AttributeTargets.Method)]
public sealed class EndAttribute : Attribute;

/// <summary>Small methods, each with the answer that is expected. Whatever may outlive its method must be said to.</summary>
public static partial class Escapes
{
    private static object? s_object;
    private static readonly List<object> s_objects = [];
    [ThreadStatic]
    private static object? t_object;

    public sealed class Node
    {
        public object? Value;
        public Node? Next;

        public override string ToString() => "node";
    }

    public class Leaking
    {
        public Leaking() => s_object = this;
    }

    public class DerivedLeaking : Leaking;

    public class CallsVirtual
    {
        public CallsVirtual() => Virtual();

        public virtual void Virtual()
        {
        }
    }

    public sealed class LeaksInVirtual : CallsVirtual
    {
        public override void Virtual() => s_object = this;
    }

    public sealed class DoesNotLeak : CallsVirtual;

    public class Finalizable
    {
        public object? Held;

        ~Finalizable() => s_object = Held;
    }

    public sealed class KeepsInToString
    {
        public override string ToString()
        {
            s_object = this;
            return "";
        }
    }

    public ref struct Holder
    {
        public object? Held;
        public ref int Number;
    }

    // What becomes of an argument.
    [Goes("")]
    public static int Reads(Node node) => node.Next is null ? 0 : 1;

    [Goes("returned")]
    public static Node Identity(Node node) => node;

    [Goes("escapes")]
    public static void Static(object value) => s_object = value;

    [Goes("escapes")]
    public static void ThreadStatic(object value) => t_object = value;

    [Goes("into 1")]
    public static void Field(object value, Node node) => node.Value = value;

    [Goes("into 0, into 1")]
    public static void Deep(object value, Node node) => node.Next!.Next!.Value = value;

    [Goes("into 1")]
    public static void ByRef(object value, ref object target) => target = value;

    [Goes("into 1")]
    public static void Element(object value, object[] array) => array[0] = value;

    [Goes("into 0, into 1")]
    public static void Listed(object value, List<object> list) => list.Add(value);

    [Goes("escapes")]
    public static void KeptByOverride(Exception error, System.Threading.Channels.ChannelWriter<int> writer) => writer.TryComplete(error);

    [Goes("escapes")]
    public static void ListedInStatic(object value) => s_objects.Add(value);

    [Goes("in result")]
    public static Node Wrapped(object value) => new() { Value = value };

    [Goes("escapes")]
    public static void Thrown(string value) => throw new InvalidOperationException(value);

    [Goes("virtual MoveNext")]
    public static int Virtual(IEnumerator value) => value.MoveNext() ? 1 : 0;

    [Goes("escapes")]
    public static void Boxed<T>(T value) => s_object = value;

    [Goes("escapes")]
    public static void Threaded(object value) => new System.Threading.Thread(() => Console.WriteLine(value)).Start();

    [Goes("escapes")]
    public static WeakReference Weak(object value) => new(value);

    [Goes("escapes")]
    public static void Table(object value) => new ConditionalWeakTable<object, object>().Add(value, "");

    [Goes("escapes")]
    public static Func<object> Captured(object value)
    {
        Func<object> function = () => value;
        s_object = function;
        return function;
    }

    [Goes("returned")]
    public static object Through(object value) => Second(First(value, 3), 0);

    [Goes("returned")]
    public static object First(object value, int depth) => depth == 0 ? value : Second(value, depth - 1);

    [Goes("returned")]
    public static object Second(object value, int depth) => First(value, depth);

    [Goes("escapes")]
    public static void Cycle(object value, int depth)
    {
        if (depth > 0)
        {
            CycleBack(value, depth - 1);
        }
    }

    [Goes("escapes")]
    public static void CycleBack(object value, int depth)
    {
        s_object = depth == 100 ? value : null;
        Cycle(value, depth);
    }

    [Goes("")]
    public static void KeptAlive(object value) => GC.KeepAlive(value);

    [Goes("escapes")]
    public static unsafe void Address(object value)
    {
        IntPtr address = *(IntPtr*)Unsafe.AsPointer(ref value);
        s_object = (long)address;
    }

    [Goes("escapes")]
    public static void Finalized(object value) => _ = new Finalizable { Held = value };

    [Goes("")]
    public static int HeldInStructure(object value)
    {
        Holder holder = new() { Held = value };
        return holder.Held == null ? 0 : 1;
    }

    [Goes("escapes")]
    public static async System.Threading.Tasks.Task<object> Awaited(object value)
    {
        await System.Threading.Tasks.Task.Yield();
        return value;
    }

    [Goes("in result")]
    public static IEnumerable<object> Iterated(object value)
    {
        yield return value;
    }

    // What a method makes.
    [End]
    public static int Local() => new Node().Next is null ? 1 : 0;

    [End]
    public static int Linked()
    {
        Node first = new();
        first.Next = new Node();
        int read = Reads(first);
        return read + 1;
    }

    [End]
    public static int ArrayOfNumbers() => new int[10].Length;

    [End]
    public static int Leaks() => new DerivedLeaking() is null ? 0 : 1;

    [End]
    public static int LeaksByVirtual() => new LeaksInVirtual() is null ? 0 : 1;

    [End]
    public static int LeaksNotByVirtual() => new DoesNotLeak() is null ? 0 : 1;

    [End]
    public static int HasFinalizer() => new Finalizable().Held is null ? 0 : 1;

    [End]
    public static int PassedDown(int bound)
    {
        int applied = Apply(number => number + bound, 1);
        return applied + 1;
    }

    public static int Apply(Func<int, int> function, int argument) => function(argument) + function(argument);

    [End]
    public static int PassedDownAndKept(int bound) => Keep(number => number + bound, 1);

    public static int Keep(Func<int, int> function, int argument)
    {
        s_object = function;
        return function(argument);
    }

    [End]
    public static object? ClosureReturnsItself()
    {
        Node node = new();
        return Give(() => node);
    }

    public static object Give(Func<object> function) => function();

    [End]
    public static int TextOfNode() => Text(new Node()) + 1;

    [End]
    public static int TextOfKeeping() => Text(new KeepsInToString());

    public static int Text(object value) => value.ToString()!.Length;

    [End]
    public static int Builder()
    {
        StringBuilder builder = new();
        builder.Append('a');
        return builder.Length;
    }

    [End]
    public static int Concatenated(string left, string right) => string.Concat(left, right).Length;

    [End]
    public static int Copied(List<string> list) => Shared(list).Length;

    private static string Shared(List<string> list) => list.Count > 3 ? new string('a', 3) : list[0];

    [End]
    public static int FreshOrLiteral(int length) => Repeated(length).Length;

    private static string Repeated(int length) => length == 0 ? "" : new string('a', length);

    [End]
    public static int ToArrayOfList(List<int> list) => list.ToArray().Length;

    [End]
    public static int ListOfNumbers()
    {
        List<int> list = [];
        for (int i = 0; i < 10; i++)
        {
            list.Add(i);
        }

        return list.Count;
    }

    [End]
    public static int Looped(IEnumerable<int> source)
    {
        int sum = 0;
        foreach (int number in new Numbers())
        {
            sum += number;
        }

        return sum;
    }

    public sealed class Numbers : IEnumerable<int>
    {
        public IEnumerator<int> GetEnumerator()
        {
            yield return 1;
            yield return 2;
        }

        IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();
    }

    [End]
    public static int Params() => Count(1, "a", 2.0) + 1;

    public static int Count(params object[] values)
    {
        int count = 0;
        foreach (object value in values)
        {
            count += value is string ? 1 : 0;
        }

        return count;
    }

    [End]
    public static string Formatted(int number) => string.Format("{0}", number);

    [End]
    public static string Interpolated(int number) => $"{number}:{number}";

    [End]
    public static int Locked()
    {
        object gate = new();
        lock (gate)
        {
            return 1;
        }
    }

    [End]
    public static int Query(int[] numbers, int bound) => numbers.Where(number => number > bound).ToList().Count;

    [End]
    public static int Sorted(int[] numbers, int[] keys)
    {
        System.Array.Sort(numbers, (left, right) => keys[left].CompareTo(keys[right]));
        return numbers[0];
    }

    // Where it is deleted.
    [End]
    public static int UsedInHandler(string text)
    {
        Node node = new();
        try
        {
            return int.Parse(text);
        }
        catch (FormatException)
        {
            return Reads(node) + 1;
        }
    }

    [End]
    public static int UsedInFinally(string text)
    {
        Node node = new();
        try
        {
            return int.Parse(text);
        }
        finally
        {
            Console.WriteLine(Reads(node));
        }
    }

    [End]
    public static int EachTurn(int turns)
    {
        int sum = 0;
        for (int i = 0; i < turns; i++)
        {
            Node node = new();
            sum += Reads(node);
        }

        return sum;
    }

    [End]
    public static int NextTurn(int turns)
    {
        int sum = 0;
        Node? last = null;
        for (int i = 0; i < turns; i++)
        {
            Node node = new();
            sum += last is null ? 0 : Reads(last);
            last = node;
        }

        return sum;
    }

    [End]
    public static int OnOnePath(int number)
    {
        Node node = new();
        if (number > 10)
        {
            return number;
        }

        return Reads(node) + number;
    }

    [End]
    public static unsafe int Pinned(int length)
    {
        int[] numbers = new int[length];
        fixed (int* first = numbers)
        {
            return *first + 1;
        }
    }

    [End]
    public static int Spanned(int length)
    {
        Span<int> numbers = new int[length];
        numbers[0] = length;
        return numbers[^1];
    }

    [End]
    public static int TailCall() => Reads(new Node());

    [End]
    public static object LoopOfText(int turns)
    {
        string text = "";
        for (int i = 0; i < turns; i++)
        {
            text += "a";
        }

        return text.Length;
    }

    // What would be missed without one of the rules.
    [End]
    public static object ReturnedByCall() => Identity(new Node());

    [End]
    public static object ReturnedInside()
    {
        Node wrapped = Wrapped(new Node());
        wrapped.Next = null;
        return wrapped;
    }

    [End]
    public static void StoredByCall(Node node) => Field(new Node(), node);

    [End]
    public static void GivenAwayByCall()
    {
        Node node = new() { Value = new Node() };
        Publish(node);
    }

    private static void Publish(Node node) => s_object = node.Value;

    [End]
    public static void StoredInShared()
    {
        Node node = new();
        Fill(node);
        node.Next!.Value = new Node();
    }

    private static readonly Node s_shared = new();

    private static void Fill(Node node) => node.Next = s_shared;

    [End]
    public static void StoredInSharedResult() => Filled().Next!.Value = new Node();

    private static Node Filled() => new() { Next = s_shared };

    [End]
    public static unsafe void Numbered()
    {
        Node node = new();
        Node* address = &node;
        s_object = (long)address;
    }

    [End]
    public static void GivenToNative() => Weak(new Node());

    [Goes("escapes")]
    public static void ThrownInside(object value) => throw new Carrier(value);

    private sealed class Carrier(object value) : Exception
    {
        public object Value { get; } = value;
    }

    [End]
    public static int OnTheStack() => Reads2(new Node(), Environment.TickCount) + 1;

    private static int Reads2(Node node, int number) => number > 0 && node.Next is null ? 0 : 1;

    // A new object that two owners lead to: what is stored through one is found through the other.
    [End]
    public static int SharedByTwo()
    {
        Node first = new(), second = new();
        Share(first, second);
        first.Next!.Value = new Node();
        return second.Next!.Value!.GetHashCode();
    }

    private static void Share(Node first, Node second) => first.Next = second.Next = new Node();

    [End]
    public static int SharedWithResult()
    {
        Node first = new(), second = Sharing(first);
        first.Next!.Value = new Node();
        return second.Next!.Value!.GetHashCode();
    }

    private static Node Sharing(Node first)
    {
        first.Next = new Node();
        return new Node { Next = first.Next };
    }

    private static readonly string s_name = Environment.GetEnvironmentVariable("NAME") ?? "none";

    // What is there may be the environment's.
    [End]
    public static int NamedOrNew(int count) => Label(count).Length;

    private static string Label(int count) => count > 0 ? new string('x', count) : s_name;

    private interface IParser<T>
    {
        T Parse(string text);
    }

    private sealed class ATextParser : IParser<string>
    {
        public string Parse(string text) => new('x', text.Length);
    }

    private sealed class NodeParser : IParser<Node>
    {
        public Node Parse(string text) => new() { Next = new Node() };
    }

    private static readonly IParser<string> s_texts = new ATextParser();
    private static readonly IParser<Node> s_nodes = new NodeParser();

    // The first of the two candidates returns text, which leads to nothing.
    [End]
    public static Node Parsed(int count)
    {
        GC.KeepAlive(s_texts.Parse(""));
        Node node = s_nodes.Parse(new string('a', count));
        node.Next!.Value = new object[3];
        return node;
    }
}
