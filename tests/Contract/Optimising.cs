using System.Runtime.CompilerServices;

namespace Freehold.Contract;

/// <summary>
/// Point 2, where the compiler believes that an access to an object known not to be null cannot throw: what comes before a deletion is not done after it, what the program leaves out is
/// not done at all, and an exception meets its handlers. The memory of everything deleted here goes at once.
/// </summary>
internal static class Optimising
{
    private const MethodImplOptions NotInlined = MethodImplOptions.NoInlining;
    private const int Length = 400_000;

    /// <summary>An object of more than a megabyte, whose first fields are as those of any object.</summary>
    private sealed class Wide
    {
        public int First = 1;
        public int Second = 2;
        public Wide? Next = null;
        public Rest Rest = default;
    }

    [InlineArray(Length)]
    private struct Rest
    {
        private int _element;
    }

    public static IEnumerable<Case> All()
    {
        (string Name, int Expected, Func<int> Run)[] cases =
        [
            ("argument-length", Length * 10 + 1, () => ArgumentLength(Array())),
            ("argument-length-string", Length * 20 + 1, () => ArgumentLength(new string('x', 2 * Length))),
            ("argument-field", 21, () => ArgumentField(new Wide())),
            ("local-length", Length + 1, () => LocalLength(Array())),
            ("local-field", 13 + 10, () => LocalField(new Wide())),
            ("sum-length", Length + 1, () => SumLength(Array())),
            ("sum-field", 3, () => SumField(new Wide())),
            ("type", 11, () => TypeBefore(new Wide())),
            ("select-length", 7, () => SelectLength(Array(), Never())),
            ("select-field", 7, () => SelectField(new Wide(), Never())),
            ("select-store", 8, () => SelectStore(new Wide(), Never() ? 9 : 0)),
            ("select-reference", 1, () => SelectReference(new Wide(), Never())),
            ("and-length", 2, () => AndLength(Array(), Never())),
            ("or-length", 1, () => OrLength(Array(), 0)),
            ("and-field", 0, () => AndField(new Wide(), Never())),
            ("and-type", 0, () => AndType(new Wide(), Never())),
            ("loop-length", 0, () => LoopLength(Array(), new bool[100])),
            ("loop-field", 0, () => LoopField(new Wide(), new bool[100])),
            ("loop-elements", 0, () => LoopElements(Array(), new bool[100], 100)),
            ("loop-elements-unknown", 0, () => LoopElementsUnknown(Array(), new bool[100])),
            ("loop-deletes", 0, () => LoopDeletes(Array(), new int[100])),
            ("loop-deletes-field", 7, () => LoopDeletesField(new Wide(), new int[100])),
            ("try-catch", 1, () => TryCatch(new Wide())),
            ("try-filter", 1, () => TryFilter(new Wide(), 1)),
            ("try-finally", 6, () => TryFinally(new Wide())),
            ("try-order", 134, () => TryOrder(new Wide(), new int[8])),
            ("try-local", 1, () => TryLocal(new Wide(), 7)),
            ("try-store", 1, () => TryStore(new Wide(), new Wide())),
            ("try-store-behind", 2, () => TryStoreBehind(new Wide(), new Wide())),
            ("try-load-behind", 2, () => TryLoadBehind(new Wide(), new Wide())),
        ];
        foreach ((string name, int expected, Func<int> run) in cases)
            yield return new("jit-" + name, _ => Expect.Equal(expected, run(), name));
    }

    private static int[] Array() => new int[Length];

    [MethodImpl(NotInlined)]
    private static bool Never() => Environment.TickCount64 < 0;

    [MethodImpl(NotInlined)]
    private static int Delete(object value)
    {
        Heap.Delete(value);
        return 1;
    }

    [MethodImpl(NotInlined)]
    private static int Combine(int a, int b, int c = 0) => a * 10 + b + c;

    // Read before the deletion, wanted after it.

    [MethodImpl(NotInlined)]
    private static int ArgumentLength(int[] array)
    {
        array[0] = 1;
        return Combine(array.Length, Delete(array));
    }

    [MethodImpl(NotInlined)]
    private static int ArgumentLength(string text) => text[0] == 'q' ? 0 : Combine(text.Length, Delete(text));

    [MethodImpl(NotInlined)]
    private static int ArgumentField(Wide wide)
    {
        wide.First = 1;
        return Combine(wide.Second, Delete(wide));
    }

    [MethodImpl(NotInlined)]
    private static int LocalLength(int[] array)
    {
        array[0] = 1;
        int length = array.Length;
        return Delete(array) + length;
    }

    [MethodImpl(NotInlined)]
    private static int LocalField(Wide wide)
    {
        wide.First = 10;
        int field = wide.First;
        return Combine(Delete(wide), field, 3);
    }

    [MethodImpl(NotInlined)]
    private static int SumLength(int[] array)
    {
        array[0] = 1;
        return array.Length + Delete(array);
    }

    [MethodImpl(NotInlined)]
    private static int SumField(Wide wide)
    {
        wide.First = 1;
        return wide.Second + Delete(wide);
    }

    [MethodImpl(NotInlined)]
    private static int TypeBefore(object value) => value.GetHashCode() == 0 ? 0 : Combine(value.GetType() == typeof(Wide) ? 1 : 0, Delete(value));

    // Not read after the deletion, unless the compiler does so ahead of the condition.

    [MethodImpl(NotInlined)]
    private static int SelectLength(int[] array, bool condition)
    {
        array[0] = 1;
        Delete(array);
        return condition ? array.Length : 7;
    }

    [MethodImpl(NotInlined)]
    private static int SelectField(Wide wide, bool condition)
    {
        wide.First = 1;
        Delete(wide);
        return condition ? wide.Second : 7;
    }

    [MethodImpl(NotInlined)]
    private static int SelectStore(Wide wide, int condition)
    {
        wide.First = 1;
        Delete(wide);
        int result = 7;
        if (condition > 3)
            result = wide.Second;
        return result + 1;
    }

    [MethodImpl(NotInlined)]
    private static int SelectReference(Wide wide, bool condition)
    {
        wide.First = 1;
        Delete(wide);
        Wide? result = null;
        if (condition)
            result = wide.Next;
        return result == null ? 1 : 0;
    }

    [MethodImpl(NotInlined)]
    private static int AndLength(int[] array, bool condition)
    {
        array[0] = 1;
        Delete(array);
        return condition && array.Length == 3 ? 1 : 2;
    }

    [MethodImpl(NotInlined)]
    private static int OrLength(int[] array, int zero)
    {
        array[0] = 1;
        Delete(array);
        return zero == 0 || array.Length == 3 ? 1 : 2;
    }

    [MethodImpl(NotInlined)]
    private static int AndField(Wide wide, bool condition)
    {
        wide.First = 1;
        Delete(wide);
        return condition && wide.Second != 0 ? 1 : 0;
    }

    [MethodImpl(NotInlined)]
    private static int AndType(object value, bool condition)
    {
        int hash = value.GetHashCode();
        Delete(value);
        return condition && value.GetType() == typeof(Wide) ? hash : 0;
    }

    [MethodImpl(NotInlined)]
    private static int LoopLength(int[] array, bool[] wanted)
    {
        array[0] = 1;
        Delete(array);
        int sum = 0;
        for (int i = 0; i < wanted.Length; i++)
        {
            if (wanted[i])
                sum += array.Length;
        }
        return sum;
    }

    [MethodImpl(NotInlined)]
    private static int LoopField(Wide wide, bool[] wanted)
    {
        wide.First = 1;
        Delete(wide);
        int sum = 0;
        for (int i = 0; i < wanted.Length; i++)
        {
            if (wanted[i])
                sum += wide.Second;
        }
        return sum;
    }

    [MethodImpl(NotInlined)]
    private static int LoopElements(int[] array, bool[] wanted, int count)
    {
        array[0] = 1;
        Delete(array);
        int sum = 0;
        for (int i = 0; i < count; i++)
        {
            if (wanted[i])
                sum += array[i];
        }
        return sum;
    }

    [MethodImpl(NotInlined)]
    private static int LoopElementsUnknown(int[] array, bool[] wanted)
    {
        Delete(array);
        int sum = 0;
        for (int i = 0; i < wanted.Length; i++)
        {
            if (wanted[i])
                sum += array[i];
        }
        return sum;
    }

    [MethodImpl(NotInlined)]
    private static int LoopDeletes(int[] array, int[] other)
    {
        int sum = array[0];
        for (int i = 0; i < other.Length; i++)
        {
            if (i == 3)
                Delete(array);
            sum += i < 3 ? array[i] : other[i];
        }
        return sum;
    }

    [MethodImpl(NotInlined)]
    private static int LoopDeletesField(Wide wide, int[] other)
    {
        int sum = wide.First;
        for (int i = 0; i < other.Length; i++)
        {
            if (i == 3)
                Delete(wide);
            sum += i < 3 ? wide.Second : other[i];
        }
        return sum;
    }

    // Used after the deletion: the handlers run, and what was stored before is there.

    [MethodImpl(NotInlined)]
    private static int TryCatch(Wide wide)
    {
        wide.First = 1;
        Delete(wide);
        try
        {
            wide.First = 2;
        }
        catch (DanglingReferenceException)
        {
            return 1;
        }
        return 0;
    }

    [MethodImpl(NotInlined)]
    private static int TryFilter(Wide wide, int wanted)
    {
        wide.First = 1;
        Delete(wide);
        try
        {
            wide.First = 2;
        }
        catch (Exception exception) when (exception is DanglingReferenceException && wanted > 0)
        {
            return 1;
        }
        return 0;
    }

    [MethodImpl(NotInlined)]
    private static int TryFinally(Wide wide)
    {
        int result = 0;
        try
        {
            wide.First = 1;
            Delete(wide);
            try
            {
                wide.First = 2;
            }
            finally
            {
                result = 5;
            }
        }
        catch (DanglingReferenceException)
        {
            return result + 1;
        }
        return 0;
    }

    [MethodImpl(NotInlined)]
    private static int TryOrder(Wide wide, int[] log)
    {
        int count = 0;
        wide.First = 1;
        Delete(wide);
        try
        {
            try
            {
                log[count++] = 1;
                wide.First = 2;
                log[count++] = 2;
            }
            finally
            {
                log[count++] = 3;
            }
        }
        catch (DanglingReferenceException)
        {
            log[count++] = 4;
        }
        return log[0] * 100 + log[1] * 10 + log[2];
    }

    [MethodImpl(NotInlined)]
    private static int TryLocal(Wide wide, int before)
    {
        int local = before;
        wide.First = 1;
        Delete(wide);
        try
        {
            local = 1;
            wide.First = 3;
            local = 2;
        }
        catch (DanglingReferenceException)
        {
            return local;
        }
        return 0;
    }

    [MethodImpl(NotInlined)]
    private static int TryStore(Wide wide, Wide other)
    {
        wide.First = 1;
        Delete(wide);
        try
        {
            other.First = 1;
            wide.First = 3;
            other.First = 2;
        }
        catch (DanglingReferenceException)
        {
            return other.First;
        }
        return 0;
    }

    [MethodImpl(NotInlined)]
    private static int TryStoreBehind(Wide wide, Wide other)
    {
        wide.First = 1;
        other.Second = 2;
        Delete(wide);
        try
        {
            wide.First = 3;
            other.Second = 4;
        }
        catch (DanglingReferenceException)
        {
            return other.Second;
        }
        return 0;
    }

    [MethodImpl(NotInlined)]
    private static int TryLoadBehind(Wide wide, Wide other)
    {
        wide.First = 1;
        other.Second = 2;
        Delete(wide);
        try
        {
            int field = wide.Second;
            other.Second = 4;
            return field;
        }
        catch (DanglingReferenceException)
        {
            return other.Second;
        }
    }
}
