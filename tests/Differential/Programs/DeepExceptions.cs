namespace Freehold.Differential.Programs;

/// <summary>Exceptions through a thousand frames with nested finally blocks.</summary>
internal static partial class DeepExceptions
{
    private static int s_finals;

    private static int Descend(int depth, int bottom)
    {
        try
        {
            if (depth == bottom)
                throw new InvalidOperationException("bottom " + bottom);
            return Descend(depth + 1, bottom) + 1;
        }
        finally
        {
            s_finals++;
            if (depth % 100 == 0)
            {
                try
                {
                    throw new ArgumentException("inside finally");
                }
                catch (ArgumentException)
                {
                    s_finals += 1_000;
                }
            }
        }
    }

    private static void Rethrow(int depth)
    {
        try
        {
            if (depth == 0)
                throw new FormatException("deepest");
            Rethrow(depth - 1);
        }
        catch (FormatException exception) when (depth % 3 == 0)
        {
            throw new InvalidDataException("level " + depth, exception);
        }
        catch (InvalidDataException exception) when (depth % 4 == 0)
        {
            throw new FormatException("level " + depth, exception);
        }
        catch
        {
            s_finals++;
            throw;
        }
    }

    public static void Run()
    {
        for (int i = 0; i < 6; i++)
        {
            try
            {
                Descend(0, 200 * (i + 1));
            }
            catch (InvalidOperationException exception)
            {
                Console.WriteLine(exception.Message + " " + s_finals + " " + (exception.StackTrace!.Split('\n').Length > 200));
            }
        }
        for (int i = 0; i < 5; i++)
        {
            try
            {
                Rethrow(12 + i);
            }
            catch (Exception exception)
            {
                var messages = new List<string>();
                for (Exception? e = exception; e is not null; e = e.InnerException)
                    messages.Add(e.GetType().Name + ":" + e.Message);
                Console.WriteLine(string.Join(" < ", messages));
            }
        }
        Console.WriteLine(s_finals);
        int caught = 0;
        for (int i = 0; i < 3_000; i++)
        {
            try
            {
                object value = i % 3 == 0 ? "text" : i % 3 == 1 ? null! : new int[i % 5];
                caught += i % 3 == 0 ? ((int[])value).Length : i % 3 == 1 ? value.GetHashCode() : ((int[])value)[i % 7];
            }
            catch (InvalidCastException)
            {
                caught += 1;
            }
            catch (NullReferenceException)
            {
                caught += 1_000;
            }
            catch (IndexOutOfRangeException)
            {
                caught += 1_000_000;
            }
        }
        Console.WriteLine(caught);
        try
        {
            int zero = s_finals - s_finals;
            Console.WriteLine(1 / zero);
        }
        catch (DivideByZeroException)
        {
            Console.WriteLine("divided");
        }
    }
}
