using System.Runtime.CompilerServices;

namespace System.Runtime;

/// <summary>Objects that the framework keeps in statics, and gives to whoever asks. Deletions leave them, also as parts or elements.</summary>
public static unsafe partial class FreeholdRuntime
{
    [RuntimeImport("*", "freehold_share")]
    [MethodImpl(MethodImplOptions.InternalCall)]
    private static extern void MarkShared(object obj);

    /// <summary>The object, or null, is to be stored in a static.</summary>
    public static void Share(object obj)
    {
        if (IsRunning())
        {
            MarkShared(obj);
        }
    }

    /// <summary>The same of an array, and of what is in it.</summary>
    public static void ShareElements(object[] array)
    {
        if (IsRunning() && array != null)
        {
            MarkShared(array);
            foreach (object element in array)
            {
                MarkShared(element);
            }
        }
    }

    /// <summary>
    /// Whether this is code that runs, and not a static constructor which ilc interprets: what that makes is frozen, and it gives up where a native function is called. The JIT alone knows
    /// that a constant is one.
    /// </summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static bool IsRunning() => RuntimeHelpers.IsKnownConstant('x');
}
