using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Freehold.Differential.Programs;

/// <summary>The text of stack traces, StackFrame and Environment.StackTrace.</summary>
internal static partial class StackTraces
{
    public static void Run()
    {
        for (int i = 0; i < 50; i++)
        {
            try
            {
                new Machine<string>().Start(i % 5);
            }
            catch (NotSupportedException exception)
            {
                if (i < 3)
                    Console.WriteLine(Shorten(exception.ToString()));
            }
        }
        try
        {
            Nested().GetAwaiter().GetResult();
        }
        catch (Exception exception)
        {
            Console.WriteLine(exception.Message + " " + exception.StackTrace!.Contains("Nested"));
        }
        Console.WriteLine(Environment.StackTrace.Contains(nameof(StackTraces)) + " " + (new StackTrace().FrameCount > 1));
        try
        {
            Null(null!);
        }
        catch (NullReferenceException exception)
        {
            Console.WriteLine(Shorten(exception.StackTrace!));
        }
        // Of a type that could be a native function's: no other frames for that.
        int[] numbers = [1, 2, 3];
        try
        {
            Call((int[] array, ref int number) => array[number], numbers, ref numbers[2]);
        }
        catch (IndexOutOfRangeException exception)
        {
            Console.WriteLine(Shorten(exception.StackTrace!));
        }
        try
        {
            Call(null!, numbers, ref numbers[2]);
        }
        catch (NullReferenceException exception)
        {
            Console.WriteLine(Shorten(exception.StackTrace!));
        }
    }

    private delegate int Element(int[] array, ref int number);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Call(Element element, int[] array, ref int number) => element(array, ref number) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Null(string text) => text.Length;

    private static async Task Nested()
    {
        await Task.Yield();
        await Task.Run(() => throw new InvalidOperationException("async"));
    }

    // Line numbers stay, folders go: the two builds have the same source path, but the output should not depend on where.
    private static string Shorten(string trace)
    {
        var lines = new List<string>();
        foreach (string line in trace.Split('\n'))
        {
            int file = line.IndexOf(" in ", StringComparison.Ordinal);
            int name = line.LastIndexOf('/');
            int offset = line.IndexOf(" + 0x", StringComparison.Ordinal);
            lines.Add(file > 0 && name > file ? line[..(file + 4)] + line[(name + 1)..] : offset > 0 ? line[..offset] : line);
        }
        return string.Join('\n', lines);
    }

    private sealed class Machine<T>
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public void Start(int depth)
        {
            try
            {
                Step(depth, default);
            }
            finally
            {
                depth++;
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private void Step(int depth, T? value)
        {
            if (depth == 0)
                throw new NotSupportedException("halt " + typeof(T).Name, new ArgumentException("why"));
            Step(depth - 1, value);
            GC.KeepAlive(this);
        }
    }
}
