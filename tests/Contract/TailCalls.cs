namespace Freehold.Contract;

/// <summary>Calls of delegates in tail position, whose arguments would have to be pinned if they were native functions: the stack must not grow, as it does not without
/// Freehold. (Delegates of static methods go through a thunk that makes no tail call, there neither.)</summary>
internal static class TailCalls
{
    private const int Depth = 3_000_000;

    private delegate int OfArray(OfArray self, int[] array, int times);

    private delegate int OfReference(OfReference self, ref int number, int times);

    [System.Runtime.InteropServices.UnmanagedFunctionPointer(System.Runtime.InteropServices.CallingConvention.Cdecl, CharSet = System.Runtime.InteropServices.CharSet.Unicode)]
    private delegate int OfText(OfText self, string text, int times);

    public static IEnumerable<Case> All()
    {
        yield return new("tail-calls-array", _ => Array());
        yield return new("tail-calls-reference", _ => Reference());
        yield return new("tail-calls-text", _ => Text());
    }

    private static void Array()
    {
        OfArray call = (self, array, times) => times == 0 ? array.Length : self(self, array, times - 1);
        Expect.Equal(3, call(call, new int[3], Depth));
    }

    private static void Reference()
    {
        OfReference call = (OfReference self, ref int number, int times) => ++number < times ? self(self, ref number, times) : number;
        int[] numbers = new int[2];
        Expect.Equal(Depth, call(call, ref numbers[1], Depth));
        Expect.Equal((0, Depth), (numbers[0], numbers[1]));
    }

    private static void Text()
    {
        OfText call = (self, text, times) => times == 0 ? text.Length : self(self, text, times - 1);
        Expect.Equal(4, call(call, "text", Depth));
    }
}
