#pragma warning disable CS1591, CS8500, CA1822, IDE0060, CA2201
using System;
using System.Runtime.CompilerServices;

namespace Freehold.Compiler.Fixtures;

/// <summary>Calls that store what hangs on an argument in something else that hangs there, results that lead to arguments in two steps, and slots that look alike.</summary>
public static partial class Escapes
{
    // A call stores one thing that hangs on an argument in another one.
    public sealed class Edge(Node from, Node to)
    {
        private readonly Node _from = from, _to = to;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public void Link() => _from.Next = _to;
    }

    public struct EdgeInPlace(Node from, Node to)
    {
        public Node From = from, To = to;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public readonly void Link() => From.Next = To;
    }

    public interface ICommand
    {
        void Execute();
    }

    public sealed class LinkCommand(Node from, Node to) : ICommand
    {
        private readonly Node _from = from, _to = to;

        public void Execute() => _from.Next = _to;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Execute(ICommand command) => command.Execute();

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Chain(Node[] nodes)
    {
        for (int i = 1; i < nodes.Length; i++)
        {
            nodes[i - 1].Next = nodes[i];
        }
    }

    public sealed class Shelf
    {
        public Node? Item, Box;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public void Wrap() => Box = new Node { Value = Item };

        [MethodImpl(MethodImplOptions.NoInlining)]
        public void Lift() => Box = Item!.Next;
    }

    [End]
    public static int LinkedByObject()
    {
        Node a = new(), b = new();
        new Edge(a, b).Link();
        return a.Next!.GetHashCode();
    }

    [End]
    public static int LinkedByStructure()
    {
        Node a = new(), b = new();
        EdgeInPlace edge = new(a, b);
        edge.Link();
        return a.Next!.GetHashCode();
    }

    [End]
    public static int LinkedByCommand()
    {
        Node a = new(), b = new();
        Execute(new LinkCommand(a, b));
        return a.Next!.GetHashCode();
    }

    [End]
    public static int LinkedByLocalFunction()
    {
        Node a = new(), b = new();
        Link();
        return a.Next!.GetHashCode();
        void Link() => a.Next = b;
    }

    [End]
    public static int LinkedInArray()
    {
        Node a = new(), b = new();
        Chain([a, b]);
        return a.Next!.GetHashCode();
    }

    [End]
    public static int WrappedItem()
    {
        Shelf shelf = new() { Item = new Node() };
        shelf.Wrap();
        return shelf.Box!.Value!.GetHashCode();
    }

    [End]
    public static int LiftedItem()
    {
        Node next = new();
        Shelf shelf = new() { Item = new Node { Next = next } };
        shelf.Lift();
        shelf.Box!.Value = new Node();
        return next.Value!.GetHashCode();
    }

    public sealed class Outer
    {
        public Node? Inner;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static Outer Make(object value) => new() { Inner = new Node { Value = value } };

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static Node? MakeInner(object value) => Make(value).Inner;

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static Node AddChild(Node parent, object payload)
    {
        Node child = new() { Value = payload };
        parent.Next = child;
        return child;
    }

    // Two levels of new objects lead to the argument.
    [End]
    public static int MadeByFactory()
    {
        object inner = Make(new Node()).Inner!.Value!;
        return inner.GetHashCode();
    }

    [End]
    public static int MadeInner()
    {
        object inner = MakeInner(new Node())!.Value!;
        return inner.GetHashCode();
    }

    // The result hangs on the other argument.
    [End]
    public static int ByChild()
    {
        object payload = AddChild(new Node(), new Node()).Value!;
        return payload.GetHashCode();
    }

    // A new object in a place of the caller's, two calls down.
    private static bool TryParse(string text, out Node node) => TryParse(text, null, out node);

    private static bool TryParse(string text, object? value, out Node node)
    {
        node = new Node { Value = value };
        return text.Length == 0;
    }

    private static bool Make2(object value, out Node node) => TryParse("", value, out node);

    public readonly struct Made
    {
        public readonly Node Box;

        public Made(object value) : this(value, 0)
        {
        }

        private Made(object value, int number) => Box = new Node { Value = number == 0 ? value : null };
    }

    [End]
    public static int OutOfTwoCalls()
    {
        TryParse("", out Node node);
        node.Value = new Node();
        return node.Value.GetHashCode();
    }

    [End]
    public static int ArgumentOfTwoCalls()
    {
        Make2(new Node(), out Node node);
        return node.Value!.GetHashCode();
    }

    [End]
    public static int StructureOfTwoConstructors() => ((Node)new Made(new Node()).Box.Value!).GetHashCode();

    // One new object hangs on two.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Attach(Node[] nodes)
    {
        Node context = new();
        foreach (Node node in nodes)
        {
            node.Next = context;
        }
    }

    public sealed class JoinCommand(Node a, Node b) : ICommand
    {
        private readonly Node _a = a, _b = b;

        public void Execute() => _a.Next = _b.Next = new Node();
    }

    [End]
    public static int AttachedToTwo()
    {
        Node a = new(), b = new();
        Attach([a, b]);
        a.Next!.Value = new Node();
        return b.Next!.Value!.GetHashCode();
    }

    [End]
    public static int JoinedByCommand()
    {
        Node a = new(), b = new();
        Execute(new JoinCommand(a, b));
        a.Next!.Value = new Node();
        return b.Next!.Value!.GetHashCode();
    }

    // The result is found by the argument, too.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static Node AddEmpty(Node parent)
    {
        Node child = new();
        parent.Next = child;
        return child;
    }

    [End]
    public static int ByResultAndArgument()
    {
        Node parent = new();
        Node child = AddEmpty(parent);
        parent.Next!.Value = new Node();
        return child.Value!.GetHashCode();
    }

    public class KeepsBySlot
    {
        private static object? s_kept;

        public virtual void Keep(object value) => s_kept = value;

        public virtual void Keep<T>(object value) => GC.KeepAlive(value);

        public static int Kept() => s_kept!.GetHashCode();
    }

    public sealed class OverridesByArity : KeepsBySlot
    {
        public override void Keep<T>(object value) => GC.KeepAlive(value);
    }

    public class HidesSlot : KeepsBySlot
    {
        public new virtual void Keep(object value) => GC.KeepAlive(value);
    }

    public sealed class OverridesHiding : HidesSlot
    {
        public override void Keep(object value) => GC.KeepAlive(value);
    }

    // The base's slot is still the base's.
    [End]
    public static int KeptBesideArity()
    {
        KeepsBySlot keeps = new OverridesByArity();
        keeps.Keep(new Node());
        return KeepsBySlot.Kept();
    }

    [End]
    public static int KeptBehindHiding()
    {
        KeepsBySlot keeps = new OverridesHiding();
        keeps.Keep(new Node());
        return KeepsBySlot.Kept();
    }
}
