using System.Runtime.CompilerServices;
using System.Runtime.Importing;
using System.Threading;

namespace System.Runtime;

/// <summary>
/// Compare-exchange of references: the memory and the comparand may hold different names of one object.
/// </summary>
public static unsafe partial class FreeholdRuntime
{
    /// <summary>What the framework does, which compares names.</summary>
    [FilledByPass]
    [MethodImpl(MethodImplOptions.AggressiveInlining | MethodImplOptions.InternalCall)]
    internal static extern object CompareExchangeNames(ref object location, object value, object comparand);

    /// <summary><c>Interlocked.CompareExchange</c> of objects, whatever the names of the comparand and of what is there.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static object CompareExchange(ref object location, object value, object comparand)
    {
        object seen = CompareExchangeNames(ref location, value, comparand);
        if (seen != comparand && comparand != null)
        {
            return CompareExchangeSlow(ref location, value, comparand, seen);
        }

        return seen;
    }

    /// <summary>
    /// Another name of the comparand was seen: the exchange is to happen, with that name. What is seen then is the answer, another name included, as
    /// comparisons with it are comparisons of objects.
    /// </summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    internal static object CompareExchangeSlow(ref object location, object value, object comparand, object seen)
    {
        while (SameObject(seen, comparand))
        {
            object again = CompareExchangeNames(ref location, value, seen);
            if (again == seen)
            {
                break;
            }

            seen = again;
        }

        return seen;
    }

    /// <summary><c>Interlocked.CompareExchange</c> of anything.</summary>
    /// <remarks>
    /// Not by <c>typeof(T).IsValueType</c>: code that is not optimised (a Debug build) would make the <c>Type</c>, for which the runtime takes locks, for
    /// whose owner's id it exchanges. What contains a reference, has its size and is null when boxed is one; ilc answers each without a call.
    /// </remarks>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static T CompareExchange<T>(ref T location, T value, T comparand)
    {
        if (RuntimeHelpers.IsReferenceOrContainsReferences<T>() && sizeof(T) == sizeof(object) && default(T) == null)
        {
            return Unsafe.As<T>(CompareExchange(ref Il.Object(ref location), value, comparand));
        }

        return Interlocked.CompareExchange(ref location, value, comparand);
    }
}
