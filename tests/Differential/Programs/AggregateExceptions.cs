using System.Runtime.ExceptionServices;

namespace Freehold.Differential.Programs;

/// <summary>Aggregates, captured exceptions, data, custom types and their text.</summary>
internal static partial class AggregateExceptions
{
    private sealed class OrderException(string message, int code, Exception? inner = null) : Exception(message, inner)
    {
        public int Code { get; } = code;

        public override string Message => base.Message + " (code " + Code + ")";
    }

    public static void Run()
    {
        var errors = new List<Exception>();
        for (int i = 0; i < 300; i++)
        {
            try
            {
                Fail(i);
            }
            catch (Exception exception)
            {
                exception.Data["index"] = i;
                exception.HResult = i;
                errors.Add(i % 10 == 9 ? new AggregateException("group " + i, errors.TakeLast(3)) : exception);
            }
        }
        var all = new AggregateException(errors);
        Console.WriteLine(all.InnerExceptions.Count + " " + all.Flatten().InnerExceptions.Count + " " + all.Message.Length);
        try
        {
            all.Flatten().Handle(exception => exception is not OrderException { Code: > 250 });
        }
        catch (AggregateException rest)
        {
            Console.WriteLine(string.Join(',', rest.InnerExceptions.Select(exception => exception.Data["index"])));
            Console.WriteLine(rest.GetBaseException().GetType().Name);
        }
        ExceptionDispatchInfo? captured = null;
        var thread = new Thread(() =>
        {
            try
            {
                Fail(3);
            }
            catch (Exception exception)
            {
                captured = ExceptionDispatchInfo.Capture(exception);
            }
        });
        thread.Start();
        thread.Join();
        try
        {
            captured!.Throw();
        }
        catch (Exception exception)
        {
            Console.WriteLine(exception.Message + " " + exception.StackTrace!.Contains("Fail") + " " + exception.StackTrace.Contains("End of stack trace"));
        }
        Console.WriteLine(new OrderException("outer", 1, new OrderException("inner", 2)).ToString());
        Console.WriteLine(new ArgumentNullException("name").Message + " | " + new ArgumentOutOfRangeException("n", 5, "no").Message.ReplaceLineEndings("~"));
        foreach (Action action in new Action[] { () => ArgumentNullException.ThrowIfNull((object?)null, "p"), () => ArgumentOutOfRangeException.ThrowIfNegative(-4, "q"), () => ObjectDisposedException.ThrowIf(true, typeof(string)), () => _ = new int[-1 + Environment.ProcessorCount * 0], () => checked((byte)(255 + Environment.ProcessorCount * 0 + 1)).ToString() })
        {
            try
            {
                action();
                Console.WriteLine("nothing thrown");
            }
            catch (Exception exception)
            {
                Console.WriteLine(exception.GetType().Name + ": " + exception.Message.ReplaceLineEndings("~"));
            }
        }
    }

    private static void Fail(int i)
    {
        if (i % 2 == 0)
            throw new OrderException("order", i);
        throw new TimeoutException("slow " + i);
    }
}
