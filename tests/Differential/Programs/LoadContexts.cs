using System.Reflection;
using System.Runtime.ExceptionServices;
using System.Runtime.InteropServices;
using System.Runtime.Loader;

namespace Freehold.Differential.Programs;

/// <summary>What programs do with contexts, assemblies and the domain: resolvers of native libraries, what cannot be loaded, first-chance exceptions, exit handlers, properties.</summary>
internal static partial class LoadContexts
{
    private sealed class Context() : AssemblyLoadContext("context of a plugin")
    {
        protected override Assembly? Load(AssemblyName assemblyName) => null;
    }

    [LibraryImport("freehold-resolved", EntryPoint = "getpid")]
    private static partial int ProcessId();

    [LibraryImport("freehold-missing", EntryPoint = "getpid")]
    private static partial int Missing();

    public static void Run()
    {
        Contexts();
        Resolvers();
        FirstChance();
        Domain();
    }

    private static void Try(string what, Func<object?> action)
    {
        try
        {
            Console.WriteLine(what + ": " + action());
        }
        catch (Exception exception)
        {
            Console.WriteLine(what + ": " + exception.GetType().Name);
        }
    }

    [System.Diagnostics.CodeAnalysis.UnconditionalSuppressMessage("Trimming", "IL2026", Justification = "it fails")]
    [System.Diagnostics.CodeAnalysis.UnconditionalSuppressMessage("SingleFile", "IL3000", Justification = "it is empty")]
    private static void Contexts()
    {
        Try("default", () => AssemblyLoadContext.Default.Name + " " + AssemblyLoadContext.Default.IsCollectible);
        Try("of", () => AssemblyLoadContext.GetLoadContext(typeof(LoadContexts).Assembly)?.Name);
        Try("made", () => new Context().Name);
        Try("from a stream", () => AssemblyLoadContext.Default.LoadFromStream(new MemoryStream([1, 2, 3])));
        Try("by name", () => Assembly.Load("System.Private.CoreLib").GetName().Name);
        Try("no such", () => Assembly.Load("No.Such.Assembly"));
        Try("from a file", () => Assembly.LoadFrom("/no/such/file.dll"));
        Try("location", () => typeof(LoadContexts).Assembly.Location);
        Try("entry", () => Assembly.GetEntryAssembly()!.GetName().Name);
        Try("loaded", () => AppDomain.CurrentDomain.GetAssemblies().Any(assembly => assembly == typeof(LoadContexts).Assembly));
        Try("type", () => Type.GetType("System.Collections.Generic.List`1[[System.String]]"));
        Try("no type", () => Type.GetType("No.Such.Type", throwOnError: true));
        Try("resource", () => typeof(LoadContexts).Assembly.GetManifestResourceStream("no such") is null);
    }

    private static void Resolvers()
    {
        int asked = 0;
        NativeLibrary.SetDllImportResolver(typeof(LoadContexts).Assembly, (name, _, path) =>
        {
            // Much happens in a resolver: it is called on the way to native code.
            for (int i = 0; i < 200; i++)
                Manual.Delete(new byte[i * 10]);
            asked++;
            return name == "freehold-resolved" ? NativeLibrary.Load("libc.so.6") : 0;
        });
        Try("resolved", () => ProcessId() == Environment.ProcessId);
        Try("again", () => ProcessId() == Environment.ProcessId);
        Try("missing", () => Missing());
        Console.WriteLine(asked);
        Try("second resolver", () =>
        {
            NativeLibrary.SetDllImportResolver(typeof(LoadContexts).Assembly, (_, _, _) => 0);
            return null;
        });
    }

    private static void FirstChance()
    {
        int seen = 0;
        void Handler(object? sender, FirstChanceExceptionEventArgs data)
        {
            if (data.Exception is FormatException)
                Interlocked.Increment(ref seen);
            Manual.Delete(new object[10]);
        }
        AppDomain.CurrentDomain.FirstChanceException += Handler;
        int caught = 0;
        Parallel.For(0, 300, i =>
        {
            try
            {
                _ = int.Parse("text " + i);
            }
            catch (FormatException)
            {
                Interlocked.Increment(ref caught);
            }
        });
        AppDomain.CurrentDomain.FirstChanceException -= Handler;
        // NativeAOT raises the event or does not: the same on both.
        Console.WriteLine(caught + " " + seen);
    }

    private static void Domain()
    {
        AppDomain.CurrentDomain.SetData("key", new List<int> { 1, 2 });
        Console.WriteLine(((List<int>)AppDomain.CurrentDomain.GetData("key")!).Count + " " + (AppContext.GetData("no such key") is null) + " " + AppContext.TryGetSwitch("No.Switch", out _));
        AppContext.SetSwitch("A.Switch", true);
        Console.WriteLine(AppContext.TryGetSwitch("A.Switch", out bool value) + " " + value + " " + AppDomain.CurrentDomain.IsFinalizingForUnload());
        AppDomain.CurrentDomain.ProcessExit += (_, _) =>
        {
            for (int i = 0; i < 100; i++)
                Manual.Delete(new byte[i]);
            Console.WriteLine("exits");
        };
        using var registration = PosixSignalRegistration.Create(PosixSignal.SIGHUP, context => context.Cancel = true);
        Console.WriteLine(registration is not null);
    }
}
