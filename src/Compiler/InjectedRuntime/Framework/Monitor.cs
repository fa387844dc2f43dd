using System.Runtime.CompilerServices;
using System.Runtime.Importing;

namespace System.Threading;

[Framework]
internal static class Monitor
{
    internal static ConditionalWeakTable<object, Condition> s_conditionTable;
}
