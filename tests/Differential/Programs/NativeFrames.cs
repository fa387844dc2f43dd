using System.Diagnostics;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text.RegularExpressions;

namespace Freehold.Differential.Programs;

/// <summary>What stack traces and reflection show of native calls with arrays, refs and texts, and of delegates that could be native.</summary>
internal static unsafe partial class NativeFrames
{
    private static bool s_shown;

    private delegate int Compare(int* left, int* right);

    private delegate void Sort(int[] items, nint count, nint size, Compare compare);

    private delegate int OfArray(int[] items);

    private delegate void OfReference(ref int number);

#pragma warning disable SYSLIB1054 // what the compiler itself marshals is the point
    [DllImport("libc")]
    private static extern void qsort(int[] items, nint count, nint size, Compare compare);

    [DllImport("libc", EntryPoint = "qsort")]
    private static extern void SortFrom(ref int items, nint count, nint size, delegate* unmanaged<int*, int*, int> compare);

    [DllImport("no-such-library")]
    private static extern int Nowhere([In] byte[] items, [MarshalAs(UnmanagedType.LPWStr)] string text, out int number);

    [DllImport("libc", SetLastError = true, CharSet = CharSet.Unicode, EntryPoint = "strlen", PreserveSig = true)]
    private static extern nint Wide(string text);
#pragma warning restore SYSLIB1054

    public static void Run()
    {
        int[] items = [3, 1, 2];
        Imported(items);
        ImportedFrom(items);
        Called(Marshal.GetDelegateForFunctionPointer<Sort>(NativeLibrary.GetExport(NativeLibrary.Load("libc.so.6"), "qsort")), items);
        Called(qsort, items);
        Console.WriteLine(Array(static list => { Show(); return list.Length; }, items));
        Reference(static (ref int number) => { Show(); number++; }, ref items[1]);
        Console.WriteLine(string.Join(' ', items));
        Throws(static () => Nowhere([1], "", out _));
        Throws(static () => Array(null!, [1]));
        Throws(static () => { int number = 1; Reference(null!, ref number); });
        Throws(static () => Array(static list => list[1], [1]));
        Throws(static () => Console.WriteLine(Array(static list => throw new NotSupportedException(), [1])));
        Reflected();
    }

    private static void Reflected()
    {
        foreach (MethodInfo method in typeof(NativeFrames).GetMethods(BindingFlags.NonPublic | BindingFlags.Static | BindingFlags.DeclaredOnly).OrderBy(method => method.Name, StringComparer.Ordinal))
        {
            Console.WriteLine($"{method} {method.Attributes} {method.Attributes.HasFlag(MethodAttributes.PinvokeImpl)} {method.GetMethodImplementationFlags()} {method.GetCustomAttribute<DllImportAttribute>()?.Value} "
                + string.Join(' ', method.CustomAttributes.Select(attribute => attribute.AttributeType.Name).Order(StringComparer.Ordinal))
                + string.Concat(method.GetParameters().Select(parameter => $" {parameter.Name} {parameter.Attributes}")));
        }

        Sort sort = qsort;
        Func<string, nint> wide = Wide;
        Console.WriteLine($"{sort.Method} {sort.Method.DeclaringType} {sort.Method.Attributes} {sort.Target is null} {sort.Equals((Sort)qsort)} {sort.GetInvocationList().Length}");
        Console.WriteLine($"{DiagnosticMethodInfo.Create(sort)?.Name} {DiagnosticMethodInfo.Create(sort)?.DeclaringTypeName}");
        Console.WriteLine(wide("text"));
        Sort both = sort + qsort;
        Console.WriteLine(both.GetInvocationList().Length + " " + (both - sort == sort));
        int[] items = [9, 8, 7];
        typeof(NativeFrames).GetMethod(nameof(qsort), BindingFlags.NonPublic | BindingFlags.Static)!.Invoke(null, [items, (nint)3, (nint)4, (Compare)InOrder]);
        Console.WriteLine(string.Join(' ', items));
        items = [9, 8, 7];
        sort.DynamicInvoke(items, (nint)3, (nint)4, (Compare)InOrder);
        Console.WriteLine(string.Join(' ', items));
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Imported(int[] items)
    {
        s_shown = false;
        qsort(items, items.Length, sizeof(int), InOrder);
        GC.KeepAlive(items);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void ImportedFrom(int[] items)
    {
        s_shown = false;
        SortFrom(ref items[0], items.Length, sizeof(int), &InOrderNative);
        GC.KeepAlive(items);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Called(Sort sort, int[] items)
    {
        s_shown = false;
        sort(items, items.Length, sizeof(int), InOrder);
        GC.KeepAlive(items);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Array(OfArray function, int[] items)
    {
        int result = function(items);
        GC.KeepAlive(items);
        return result;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Reference(OfReference function, ref int number)
    {
        function(ref number);
        GC.KeepAlive(function);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int InOrder(int* left, int* right)
    {
        if (!s_shown)
            Show();
        s_shown = true;
        return *left - *right;
    }

    [UnmanagedCallersOnly]
    private static int InOrderNative(int* left, int* right)
    {
        if (!s_shown)
            Show();
        s_shown = true;
        return *left - *right;
    }

    // How many frames there are up to Run, and what they are.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Show()
    {
        var trace = new StackTrace();
        int run = System.Array.FindIndex(trace.GetFrames(), frame => DiagnosticMethodInfo.Create(frame)?.Name == nameof(Run));
        Console.WriteLine(run);
        foreach (StackFrame frame in trace.GetFrames().Take(run))
        {
            DiagnosticMethodInfo? method = DiagnosticMethodInfo.Create(frame);
            Console.WriteLine($"{method?.DeclaringTypeName} {method?.Name} {method?.DeclaringAssemblyName}");
        }
        Console.WriteLine(Shorten(trace.ToString()));
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Throws(Action action)
    {
        try
        {
            action();
        }
        catch (Exception exception)
        {
            Console.WriteLine(Shorten(exception.ToString()));
        }
    }

    // Without what depends on where code and the program lie, and without the stubs that have no name.
    private static string Shorten(string trace) => string.Join('\n', trace.Split('\n').Select(line => Address().Replace(line, "").Replace(AppContext.BaseDirectory, "")).Where(line => !line.Contains("BaseAddress")));

    [GeneratedRegex(@" \+ 0x[0-9a-f]+")]
    private static partial Regex Address();
}
