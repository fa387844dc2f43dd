using System.Runtime;
using System.Runtime.Importing;

namespace System.Threading;

[Framework]
internal static class Interlocked
{
    public static extern int CompareExchange(ref int location, int value, int comparand);

    public static extern T CompareExchange<T>(ref T location, T value, T comparand);

    [Replacement]
    public static object CompareExchange(ref object location, object value, object comparand) => FreeholdRuntime.CompareExchange(ref location, value, comparand);
}
