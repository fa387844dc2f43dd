#pragma warning disable CS1591, CA1822
using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Freehold.Compiler.Fixtures;

/// <summary>What calls return, and what hangs on that.</summary>
public static partial class Escapes
{
    private interface IStep
    {
        IStep Next();

        void Visit();
    }

    private sealed class FirstStep : IStep
    {
        public IStep Next() => new Wrapper(this);

        public void Visit()
        {
        }
    }

    private sealed class Wrapper(FirstStep inner) : IStep
    {
        public static FirstStep? Last { get; private set; }

        public IStep Next() => this;

        public void Visit() => Last = inner;
    }

    private sealed class Holding(FirstStep inner) : IStep
    {
        public IStep Next() => new Wrapper(inner);

        public void Visit()
        {
        }
    }

    private static void Follow(IStep step) => step.Next().Visit();

    private static void FollowTwice(IStep step) => step.Next().Next().Visit();

    private static void FollowHeld(object[] held) => ((IStep)held[0]).Next().Visit();

    private static void FollowDelegate(Func<IStep> next) => next().Visit();

    // The wrapper keeps what made it.
    [End]
    public static int Wrapped()
    {
        Follow(new FirstStep());
        return 1;
    }

    [End]
    public static int HeldAndWrapped()
    {
        Follow(new Holding(new FirstStep()));
        return 1;
    }

    [End]
    public static int WrappedTwice()
    {
        FollowTwice(new FirstStep());
        return 1;
    }

    [End]
    public static int WrappedInArray()
    {
        FollowHeld([new FirstStep()]);
        return 1;
    }

    [End]
    public static int WrappedByDelegate()
    {
        var first = new FirstStep();
        FollowDelegate(() => new Wrapper(first));
        return 1;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static (Node Head, int Count) InTuple(object value) => (new Node { Value = value }, 1);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static KeyValuePair<int, Node> InPair(object value) => new(1, new Node { Value = value });

    private struct Box
    {
        public Node? Inside;

        public readonly Node? Get() => Inside;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static Box InStructure(object value) => new() { Inside = new Node { Value = value } };

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static T InGeneric<T>(object value) => (T)(object)new Node { Value = value };

    // The structure leads to a new node, and that to the argument.
    [End]
    public static string? TakenApart()
    {
        (Node head, _) = InTuple(new Node());
        return ((Node)head.Value!).ToString();
    }

    [End]
    public static string? ReadByProperty() => ((Node)InPair(new Node()).Value.Value!).ToString();

    [End]
    public static string? ReadByField() => ((Node)InStructure(new Node()).Inside!.Value!).ToString();

    [End]
    public static string? ReadByMethod()
    {
        Box box = InStructure(new Node());
        return ((Node)box.Get()!.Value!).ToString();
    }

    [End]
    public static string? ReadOfGeneric() => ((Node)InGeneric<Node>(new Node()).Value!).ToString();

    public sealed class IntoOther
    {
        public readonly Node First;

        public IntoOther(Node first, object value)
        {
            First = first;
            first.Value = value;
        }
    }

    public sealed class IntoNew(object value)
    {
        public readonly Node Inner = new() { Value = value };
    }

    public sealed class IntoKnown
    {
        public readonly Node Inner = new();

        public IntoKnown(object value)
        {
            s_object = Inner;
            Inner.Value = value;
        }
    }

    public readonly struct NewInside(object value)
    {
        public readonly Node Inner = new() { Value = value };
    }

    // A constructor stores an argument in another one, in what it makes, and in what others know. What is stored below an argument counts as stored in all that hangs there, so in itself too.
    [Goes("into 0, into 1")]
    public static int ConstructorIntoArgument(object value, Node first) => new IntoOther(first, value).First is null ? 0 : 1;

    [Goes("returned, in another result")]
    public static object? ConstructorIntoNew(object value) => new IntoNew(value).Inner.Value;

    [Goes("escapes")]
    public static int ConstructorIntoKnown(object value) => new IntoKnown(value).Inner.GetHashCode();

    [Goes("escapes")]
    public static object? StructureWithNew(object value) => new NewInside(value).Inner.Value;

    // The two arguments of one constructor know nothing of each other.
    [Goes("in result")]
    public static object ConstructorOfTwo(object value, Node other) => new KeyValuePair<object, Node>(value, other);

    private static string? s_ownText;
    private static readonly string?[] s_ownTexts = new string?[10];

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static string OwnText(int n) => s_ownText ??= new string('x', n);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static string OneOfOwnTexts(int n) => s_ownTexts[n] ??= new string('x', n);

    // The framework keeps the texts of small numbers, and marks them.
    [End]
    public static int Digits(int n) => n.ToString().Length;

    [End]
    public static int DigitsOfBoth(int n, long m) => (n.ToString() + m.ToString()).Length;

    // Nobody marks what a program keeps.
    [End]
    public static int OfOwnText(int n) => OwnText(n).Length;

    [End]
    public static int OfOwnTexts(int n) => OneOfOwnTexts(n).Length;

    // What the timer has inside would end it.
    [End]
    public static int WithTimer(TimerCallback callback)
    {
        var timer = new Timer(callback, null, 1, 1);
        return timer.Change(5, 5) ? 1 : 0;
    }

    [End]
    public static int WithArmedTimer(TimerCallback callback)
    {
        var timer = new Timer(callback, null, 1, 1);
        return timer is null ? 1 : 0;
    }

    [End]
    public static int WithIdleTimer(TimerCallback callback)
    {
        var timer = new Timer(callback);
        return timer is null ? 1 : 0;
    }

    [End]
    public static bool WithDeflate(System.IO.Stream below)
    {
        var stream = new System.IO.Compression.DeflateStream(below, System.IO.Compression.CompressionMode.Compress);
        return stream.CanWrite;
    }

    [End]
    public static bool WithLock()
    {
        var slim = new ReaderWriterLockSlim();
        return slim.TryEnterReadLock(0);
    }

    public interface IKeeper
    {
        void Keep(object value);
    }

    // Tests call Keep Put here, as Visual Basic can, and below.
    public class Keeper : IKeeper
    {
        public virtual void Keep(object value)
        {
        }
    }

    public sealed class DerivedKeeper : Keeper
    {
        public override void Keep(object value) => s_object = value;
    }

    public static void KeptUnderAnotherName(object value, IKeeper keeper) => keeper.Keep(value);

    public static void KeptByExactType(object value)
    {
        IKeeper keeper = new DerivedKeeper();
        keeper.Keep(value);
    }
}
