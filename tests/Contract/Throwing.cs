using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.ExceptionServices;

namespace Freehold.Contract;

/// <summary>The exception itself: its trace, its way through finally, filter and catch, and many threads at once.</summary>
internal static class Throwing
{
    private static Subject s_gone = null!;
    private static byte[] s_goneBytes = null!;

    public static IEnumerable<Case> All()
    {
        yield return Make("trace", Trace);
        yield return Make("trace-helpers", TraceOfHelpers);
        yield return Make("finally", Finally);
        yield return Make("filter", Filter);
        yield return Make("nested", Nested);
        yield return Make("rethrow", Rethrow);
        yield return Make("deep", Deep);
        yield return Make("locals-survive", LocalsSurvive);
        yield return Make("async", Async);
        yield return Make("iterator", Iterator);
        yield return Make("static-constructor", StaticConstructor);
        yield return Make("threads", Threads);
        yield return Make("thread-pool", ThreadPools);
        yield return Make("many", Many);
        yield return Make("unsafe-null", UnsafeNull);
        yield return Make("loop-store", LoopStore);
    }

    private static Case Make(string name, Action run) => new("throw-" + name, _ =>
    {
        s_gone = Neighbours<Subject>.Gone(i => new Subject(i), 120);
        s_goneBytes = Neighbours<byte[]>.Gone(i => new byte[5_000], 5_024);
        run();
    });

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int ReadsGone(Subject subject) => subject.Value;

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void WritesGone(Subject subject, object value) => subject.Link = value;

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void CopiesGone(byte[] bytes, byte[] to) => Array.Copy(bytes, to, 4_000);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void LocksGone(Subject subject)
    {
        lock (subject)
            GC.KeepAlive(subject);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int CallsGone(ISubject subject) => subject.Scale(3);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static string Outer(Action inner)
    {
        inner();
        return "not thrown";
    }

    private static string[] Frames(Exception exception) => exception.StackTrace!.Split('\n', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries);

    private static void Trace()
    {
        DanglingReferenceException exception = Expect.Throws<DanglingReferenceException>(() => Outer(() => ReadsGone(s_gone)));
        string[] frames = Frames(exception);
        Expect.True(frames[0].Contains("Throwing." + nameof(ReadsGone)), "the first frame is " + frames[0]);
        Expect.True(frames.Any(frame => frame.Contains(nameof(Outer))));
        Expect.True(frames.Length is >= 4 and < 20);
        var trace = new StackTrace(exception);
        Expect.True(trace.GetFrame(0)!.GetNativeIP() != 0);
        Expect.True(exception.Message.Length > 0 && exception.ToString().Contains(nameof(ReadsGone)));

        // For a test that resolves it by the debug information: the place of the fault, relative to the image.
        Console.WriteLine("ip " + (trace.GetFrame(0)!.GetNativeIP() - trace.GetFrame(0)!.GetNativeImageBase()).ToString("x"));
    }

    private static void TraceOfHelpers()
    {
        (string Name, Action Use)[] uses =
        [
            (nameof(WritesGone), () => WritesGone(s_gone, s_goneBytes)),
            (nameof(CopiesGone), () => CopiesGone(s_goneBytes, new byte[5_000])),
            (nameof(LocksGone), () => LocksGone(s_gone)),
            (nameof(CallsGone), () => CallsGone(s_gone)),
        ];
        foreach ((string name, Action use) in uses)
        {
            string[] frames = Frames(Expect.Throws<DanglingReferenceException>(() => Outer(use)));
            Expect.True(frames.Any(frame => frame.Contains(name)), name + " is not in " + string.Join(" | ", frames));
            Expect.True(frames.Any(frame => frame.Contains(nameof(Outer))), "the caller of " + name + " is not in the trace");
        }
    }

    private static void Finally()
    {
        var log = new List<string>();
        try
        {
            try
            {
                try
                {
                    log.Add("use " + ReadsGone(s_gone));
                }
                finally
                {
                    log.Add("inner");
                }
            }
            finally
            {
                log.Add("outer");
                try
                {
                    s_gone.Value = 4;
                }
                catch (DanglingReferenceException)
                {
                    log.Add("in finally");
                }
            }
        }
        catch (SystemException exception)
        {
            log.Add(exception.GetType().Name);
        }
        Expect.Equal("inner,outer,in finally,DanglingReferenceException", string.Join(',', log));
    }

    private static void Filter()
    {
        var log = new List<string>();
        bool Look(string what)
        {
            log.Add(what);
            return what == "second";
        }

        try
        {
            try
            {
                s_gone.Text = "text";
            }
            catch (DanglingReferenceException) when (Look("first"))
            {
                log.Add("never");
            }
            catch (DanglingReferenceException) when (s_gone.Value > -1)
            {
                log.Add("never: the filter throws, which counts as false");
            }
            finally
            {
                log.Add("finally");
            }
        }
        catch (Exception exception) when (Look("second"))
        {
            log.Add(exception is DanglingReferenceException ? "caught" : "other");
        }
        Expect.Equal("first,second,finally,caught", string.Join(',', log));
    }

    private static void Nested()
    {
        int count = 0;
        try
        {
            ReadsGone(s_gone);
        }
        catch (DanglingReferenceException first)
        {
            count++;
            try
            {
                WritesGone(s_gone, first);
            }
            catch (DanglingReferenceException second)
            {
                count++;
                Expect.True(!ReferenceEquals(first, second));
                try
                {
                    throw new InvalidOperationException("wrapped", second);
                }
                catch (InvalidOperationException third) when (third.InnerException == second)
                {
                    count++;
                    Expect.Throws<DanglingReferenceException>(() => CopiesGone(s_goneBytes, new byte[5_000]));
                }
            }
            Expect.True(first.StackTrace!.Contains(nameof(ReadsGone)));
        }
        Expect.Equal(3, count);
    }

    private static void Rethrow()
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Again()
        {
            try
            {
                ReadsGone(s_gone);
            }
            catch (DanglingReferenceException)
            {
                throw;
            }
        }

        DanglingReferenceException exception = Expect.Throws<DanglingReferenceException>(Again);
        Expect.True(exception.StackTrace!.Contains(nameof(ReadsGone)) && exception.StackTrace.Contains(nameof(Again)));
        var captured = ExceptionDispatchInfo.Capture(exception);
        exception = Expect.Throws<DanglingReferenceException>(captured.Throw);
        Expect.True(exception.StackTrace!.Contains(nameof(ReadsGone)));
    }

    private static void Deep()
    {
        int finals = 0;
        int Down(int depth)
        {
            try
            {
                return depth == 0 ? s_gone.Value : Down(depth - 1) + 1;
            }
            finally
            {
                finals++;
            }
        }

        for (int i = 0; i < 20; i++)
            Expect.Throws<DanglingReferenceException>(() => Down(200));
        Expect.Equal(20 * 201, finals);
    }

    // Values in callee-saved registers must come back as they were.
    private static void LocalsSurvive()
    {
        var random = new Random(5);
        for (int round = 0; round < 500; round++)
        {
            long a = random.NextInt64(), b = random.NextInt64(), c = random.NextInt64(), d = random.NextInt64();
            string text = "round " + round;
            double x = random.NextDouble(), y = random.NextDouble();
            long before = a ^ (b << 1) ^ (c << 2) ^ (d << 3);
            double product = x * y;
            try
            {
                Outer(() => ReadsGone(s_gone));
            }
            catch (DanglingReferenceException)
            {
                a++;
            }
            Expect.Equal(before, (a - 1) ^ (b << 1) ^ (c << 2) ^ (d << 3));
            Expect.Equal(product, x * y);
            Expect.Equal("round " + round, text);
        }
    }

    private static void Async()
    {
        static async Task<int> UseAsync()
        {
            await Task.Yield();
            return s_gone.Value;
        }

        static async Task<string> OuterAsync()
        {
            try
            {
                await UseAsync();
                return "not thrown";
            }
            catch (DanglingReferenceException exception)
            {
                return exception.StackTrace!.Contains(nameof(UseAsync)) ? "traced" : exception.StackTrace;
            }
        }

        Expect.Equal("traced", OuterAsync().GetAwaiter().GetResult());
        Task[] tasks = [.. Enumerable.Range(0, 50).Select(_ => (Task)UseAsync())];
        AggregateException all = Expect.Throws<AggregateException>(() => Task.WaitAll(tasks));
        Expect.Equal(50, all.InnerExceptions.Count(exception => exception is DanglingReferenceException));
    }

    private static void Iterator()
    {
        bool closed = false;
        IEnumerable<int> Items()
        {
            try
            {
                yield return 1;
                yield return s_gone.Value;
                yield return 3;
            }
            finally
            {
                closed = true;
            }
        }

        int count = 0;
        Expect.Throws<DanglingReferenceException>(() =>
        {
            foreach (int item in Items())
                count += item;
        });
        Expect.True(closed && count == 1);
        Expect.Throws<DanglingReferenceException>(() => Items().ToList());
    }

    private static class Failing
    {
        public static readonly int Value = s_gone.Value + Environment.ProcessorCount;
    }

    private static void StaticConstructor()
    {
        TypeInitializationException exception = Expect.Throws<TypeInitializationException>(() => Console.WriteLine(Failing.Value));
        Expect.True(exception.InnerException is DanglingReferenceException);
    }

    private static void Threads()
    {
        int caught = 0, wrong = 0;
        var start = new ManualResetEventSlim();
        Thread[] threads = [.. Enumerable.Range(0, 16).Select(id => new Thread(() =>
        {
            start.Wait();
            for (int i = 0; i < 300; i++)
            {
                object made = new string('m', i % 50 + 1);
                try
                {
                    switch ((i + id) % 4)
                    {
                        case 0: ReadsGone(s_gone); break;
                        case 1: WritesGone(s_gone, made); break;
                        case 2: CopiesGone(s_goneBytes, new byte[5_000]); break;
                        default: CallsGone(s_gone); break;
                    }
                    Interlocked.Increment(ref wrong);
                }
                catch (DanglingReferenceException)
                {
                    Interlocked.Increment(ref caught);
                }
                catch (Exception)
                {
                    Interlocked.Increment(ref wrong);
                }
                Heap.Delete(made);
            }
        }))];
        Array.ForEach(threads, thread => thread.Start());
        start.Set();
        Array.ForEach(threads, thread => thread.Join());
        Expect.Equal(0, wrong);
        Expect.Equal(16 * 300, caught);
    }

    private static void ThreadPools()
    {
        int caught = 0;
        Parallel.For(0, 500, _ =>
        {
            try
            {
                ReadsGone(s_gone);
            }
            catch (DanglingReferenceException)
            {
                Interlocked.Increment(ref caught);
            }
        });
        Expect.Equal(500, caught);
    }

    private static void Many()
    {
        int caught = 0;
        for (int i = 0; i < 20_000; i++)
        {
            try
            {
                caught += ReadsGone(s_gone);
            }
            catch (DanglingReferenceException)
            {
                caught++;
            }
            if (i % 3 == 0)
            {
                try
                {
                    caught += ReadsGone(null!);
                }
                catch (NullReferenceException)
                {
                }
            }
        }
        Expect.Equal(20_000, caught);
    }

    private static unsafe void UnsafeNull()
    {
        int* pointer = (int*)(nint)s_goneBytes.GetHashCodeOrZero();
        Expect.Throws<NullReferenceException>(() => Console.WriteLine(*pointer));
        Expect.Throws<NullReferenceException>(() => *(long*)((byte*)pointer + 0x80) = 1);
    }

    private static void LoopStore()
    {
        object?[] gone = Neighbours<object?[]>.Gone(i => new object?[100], 824);
        int stored = 0;
        try
        {
            for (int i = 0; i < 100; i++)
            {
                gone[i] = "text";
                stored++;
            }
        }
        catch (DanglingReferenceException)
        {
        }
        Expect.Equal(0, stored);
    }

    // Zero, in a way that the compiler does not see.
    private static int GetHashCodeOrZero(this byte[] bytes) => Environment.TickCount64 < 0 ? bytes.Length : 0;
}
