namespace Freehold.Differential.Programs;

/// <summary>Filters with side effects, the two passes, and exceptions from finally and filters.</summary>
internal static partial class ExceptionFilters
{
    private static readonly List<string> s_log = [];

    private static bool Note(string text, bool result)
    {
        s_log.Add(text);
        return result;
    }

    public static void Run()
    {
        try
        {
            try
            {
                try
                {
                    throw new InvalidOperationException("first");
                }
                finally
                {
                    s_log.Add("inner finally");
                }
            }
            catch (InvalidOperationException exception) when (Note("inner filter " + exception.Message, false))
            {
                s_log.Add("never");
            }
            finally
            {
                s_log.Add("outer finally");
            }
        }
        catch (Exception exception) when (Note("outer filter", true))
        {
            s_log.Add("caught " + exception.Message);
        }
        try
        {
            try
            {
                throw new InvalidOperationException("lost");
            }
            finally
            {
                ThrowFrom("finally");
            }
        }
        catch (FormatException exception)
        {
            s_log.Add("replaced by " + exception.Message);
        }
        try
        {
            try
            {
                throw new InvalidOperationException("kept");
            }
            catch (InvalidOperationException) when (FailingFilter())
            {
                s_log.Add("never");
            }
        }
        catch (InvalidOperationException exception)
        {
            s_log.Add(exception.Message);
        }
        foreach (string entry in s_log)
            Console.WriteLine(entry);
        long sum = 0;
        for (int i = 0; i < 2_000; i++)
        {
            try
            {
                Loop(i);
            }
            catch (Exception exception) when (exception.Message.Length % 2 == 0)
            {
                sum += exception.Message.Length;
            }
            catch (Exception exception)
            {
                sum -= exception.Message.Length;
            }
        }
        Console.WriteLine(sum);
        Console.WriteLine(Leave(3) + Leave(5) + Leave(9));
    }

    private static bool FailingFilter()
    {
        s_log.Add("failing filter");
        throw new FormatException("swallowed");
    }

    private static void ThrowFrom(string where) => throw new FormatException(where);

    private static void Loop(int i)
    {
        using var scope = new Scope();
        for (int j = 0; ; j++)
        {
            if (j == i % 17)
                throw new ApplicationException(new string('m', i % 23));
        }
    }

    private static string Leave(int limit)
    {
        for (int i = 0; ; i++)
        {
            try
            {
                if (i >= limit)
                    return "left at " + i + " ";
                if (i % 2 == 0)
                    continue;
            }
            finally
            {
                limit -= i % 4 == 3 ? 1 : 0;
            }
        }
    }

    private sealed class Scope : IDisposable
    {
        public static int Open;

        public Scope() => Open++;

        public void Dispose() => Open--;
    }
}
