using System.Runtime.InteropServices;
using System.Runtime.InteropServices.Marshalling;

namespace Freehold.Differential.Programs;

/// <summary>Generated COM interfaces: objects handed to native code as pointers, called through them, and found again behind them.</summary>
internal static partial class ComInterfaces
{
    public static void Run()
    {
        var wrappers = new StrategyBasedComWrappers();
        long sum = 0;
        int found = 0;
        for (int i = 0; i < 2000; i++)
        {
            var calculator = new Calculator(i);
            nint pointer = wrappers.GetOrCreateComInterfaceForObject(calculator, CreateComInterfaceFlags.None);
            sum += Call(wrappers, pointer, i);
            found += ComWrappers.TryGetObject(pointer, out object? behind) && ReferenceEquals(behind, calculator) ? 1 : 0;
            Marshal.Release(pointer);
        }

        // Only the pointers keep these.
        nint[] pointers = [.. Enumerable.Range(0, 1000).Select(i => wrappers.GetOrCreateComInterfaceForObject(new Calculator(i), CreateComInterfaceFlags.None))];
        for (int i = 0; i < 20_000; i++)
            GC.KeepAlive(new string('x', i % 100));
        foreach (nint pointer in pointers)
        {
            sum += Call(wrappers, pointer, 1);
            Marshal.Release(pointer);
        }

        Console.WriteLine($"{sum} {found}");
    }

    private static int Call(ComWrappers wrappers, nint pointer, int value)
    {
        object wrapper = wrappers.GetOrCreateObjectForComInstance(pointer, CreateObjectFlags.UniqueInstance);
        var calculator = (ICalculator)wrapper;
        int sum = calculator.Add(value, 1);
        string named = calculator.Name("n" + value);
        int total = calculator.Total([value, 2, 3], 3);
        ((ComObject)wrapper).FinalRelease();
        return sum + named.Length + total;
    }

    [GeneratedComInterface]
    [Guid("6f1c2b7e-3a0d-4c53-9f53-6a1d6f0f5b11")]
    internal partial interface ICalculator
    {
        int Add(int left, int right);

        [return: MarshalAs(UnmanagedType.LPWStr)]
        string Name([MarshalAs(UnmanagedType.LPWStr)] string prefix);

        int Total([MarshalUsing(CountElementName = nameof(count))] int[] values, int count);
    }

    [GeneratedComClass]
    internal sealed partial class Calculator(int value) : ICalculator
    {
        public int Add(int left, int right) => left + right + value;

        public string Name(string prefix) => prefix + value;

        public int Total(int[] values, int count) => values.Sum() + count;
    }
}
