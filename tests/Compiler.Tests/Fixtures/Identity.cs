using System;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Freehold.Compiler.Fixtures;

/// <summary>Comparisons whose result moving an object must not change, and some that only look so.</summary>
public static unsafe class Identity
{
    /// <summary>An object to exchange.</summary>
    public static object? Field;

    /// <summary>The instruction ceq.</summary>
    public static bool Equal(object left, string right) => (object)left == right;

    /// <summary>ceq, and its negation.</summary>
    public static bool NotEqual(int[] left, Array right) => left != right;

    /// <summary>bne.un, in a loop over an array.</summary>
    public static int Branch(object[] array, object value)
    {
        for (int i = 0; i < array.Length; i++)
        {
            if (array[i] == value)
            {
                return i;
            }
        }

        return -1;
    }

    /// <summary>A generic parameter that is a class: box, box, ceq.</summary>
    public static bool Generic<T>(T left, T right)
        where T : class => left == right;

    /// <summary>A value of a generic type, whose argument is only known in the signature of the field.</summary>
    public static bool Substituted(StrongBox<string> left, StrongBox<int> right, object value) => (object?)left.Value == value && right.Value == 1;

    /// <summary>A call, and operands that come from two branches.</summary>
    public static bool Call(string? left, object right, bool which) => ReferenceEquals(which ? left : right, right);

    /// <summary>The operands cross a handler.</summary>
    public static bool Handler(Exception expected)
    {
        try
        {
            throw expected;
        }
        catch (Exception thrown) when (thrown == expected)
        {
            return thrown == expected.InnerException;
        }
    }

    /// <summary>No site: null, literals, types of the runtime, numbers.</summary>
    public static bool Nothing(object value, Type type, long number, byte* pointer) =>
        value == null || ReferenceEquals(value, null) || value == (object)"literal" || value.GetType() == typeof(string) || type == typeof(int)
        || number == 1 || pointer == (byte*)number || default(Guid) == Guid.Empty;

    /// <summary>Two references of which nothing is known.</summary>
    public static bool Same(ref int left, ref int right) => Unsafe.AreSame(ref left, ref right);

    /// <summary>Their order.</summary>
    public static int Order(ref int left, ref int right) => Unsafe.IsAddressLessThan(ref left, ref right) ? -1 : Unsafe.IsAddressGreaterThan(ref left, ref right) ? 1 : 0;

    /// <summary>Their distance, by the method and by addresses that became numbers.</summary>
    public static long Distance(ref int left, ref int right) => Unsafe.ByteOffset(ref left, ref right) + ((byte*)Unsafe.AsPointer(ref left) - (byte*)Unsafe.AsPointer(ref right));

    /// <summary>The distance alone.</summary>
    public static nint Apart(ref int left, ref int right) => Unsafe.ByteOffset(ref left, ref right);

    /// <summary>A pointer of what is not pinned.</summary>
    public static void* AsPointer(ref int place) => Unsafe.AsPointer(ref place);

    /// <summary>A cursor and its end: derived from one reference.</summary>
    public static int Cursor(ref int start, int length)
    {
        int sum = 0;
        ref int end = ref Unsafe.Add(ref start, length);
        for (ref int cursor = ref start; Unsafe.IsAddressLessThan(ref cursor, ref end); cursor = ref Unsafe.Add(ref cursor, 1))
        {
            sum += cursor;
        }

        return sum;
    }

    /// <summary>A cursor that another reference is stored into: not derived from one.</summary>
    public static int TwoRoots(ref int start, ref int other, int length)
    {
        int sum = 0;
        ref int end = ref Unsafe.Add(ref start, length);
        ref int cursor = ref start;
        while (Unsafe.IsAddressLessThan(ref cursor, ref end))
        {
            sum += cursor;
            cursor = ref Unsafe.Add(ref other, 1);
        }

        return sum;
    }

    /// <summary>A reference that a loop reads anew from an array: one instruction, but not one value.</summary>
    public static int Reread(int[][] arrays)
    {
        int count = 0;
        ref int last = ref Unsafe.NullRef<int>();
        foreach (int[] array in arrays)
        {
            ref int first = ref array[0];
            if (Unsafe.AreSame(ref first, ref last))
            {
                count++;
            }

            last = ref first;
        }

        return count;
    }

    /// <summary>Pinned, hence at rest.</summary>
    public static long Pinned(byte[] left, byte[] right)
    {
        fixed (byte* first = left, second = right)
        {
            return first - second;
        }
    }

    /// <summary>Of objects.</summary>
    public static object? Exchange(object value, object comparand) => Interlocked.CompareExchange(ref Field, value, comparand);

    /// <summary>Of a class.</summary>
    public static string? ExchangeString(ref string? location, string value, string comparand) => Interlocked.CompareExchange(ref location, value, comparand);

    /// <summary>Of a generic parameter.</summary>
    public static T ExchangeGeneric<T>(ref T location, T value, T comparand)
        where T : class => Interlocked.CompareExchange(ref location, value, comparand);

    /// <summary>No site: with null, of numbers.</summary>
    public static object? ExchangeNothing(object value, ref int number, ref DayOfWeek day)
    {
        Interlocked.CompareExchange(ref number, 1, 2);
        Interlocked.CompareExchange(ref day, DayOfWeek.Monday, DayOfWeek.Friday);
        return Interlocked.CompareExchange(ref Field, value, null);
    }

    /// <summary>Nothing to rewrite: the methods themselves know names.</summary>
    public static bool Delegates(ref object? location, object value, object comparand, ref int left, ref int right)
    {
        delegate*<ref object?, object?, object?, object?> exchange = &Interlocked.CompareExchange;
        delegate*<ref readonly int, ref readonly int, bool> same = &Unsafe.AreSame<int>;
        delegate*<object?, object?, bool> equal = &ReferenceEquals;
        return equal(exchange(ref location, value, comparand), comparand) && same(ref left, ref right);
    }

    /// <summary>References derived from one: as Unsafe did, without asking.</summary>
    public static long DerivedDistance(ref int start, int length) =>
        Unsafe.ByteOffset(ref start, ref Unsafe.Add(ref start, length)) + (Unsafe.AreSame(ref start, ref Unsafe.Add(ref start, length)) ? 1 : 0);

    /// <summary>Types: the operator stays a call that the JIT knows, so that two typeof fold.</summary>
    public static bool Types<T>(Type left, Type right) => typeof(T) == typeof(int) || left == right || left.GetType() != typeof(string);

    /// <summary>References that are read as numbers, compared.</summary>
    public static bool Words(object left, object right, nint number) =>
        Unsafe.As<object, nint>(ref left) == Unsafe.As<object, nint>(ref right) || Unsafe.As<object, ulong>(ref left) < Unsafe.As<object, ulong>(ref right) || number == Unsafe.As<object, nint>(ref left);

    /// <summary>The same, through pointers to them.</summary>
#pragma warning disable CS8500
    public static bool WordsByPointer(object left, object right) => *(long*)&left == *(long*)&right;
#pragma warning restore CS8500

    /// <summary>Addresses as numbers of 64 bits.</summary>
    public static bool LongAddresses(ref int left, ref int right) => (ulong)Unsafe.AsPointer(ref left) == (ulong)Unsafe.AsPointer(ref right);
}
