namespace Freehold.Differential.Programs;

/// <summary>Exceptions thrown, caught, read and deleted, also those that hold deleted data.</summary>
internal static partial class DeleteExceptions
{
    private sealed class DataException(string message, byte[] data) : Exception(message)
    {
        public byte[] Bytes { get; } = data;
    }

    public static void Run()
    {
        var sum = new Checksum();
        for (int i = 0; i < 5_000; i++)
        {
            byte[] scratch = new byte[i % 300];
            try
            {
                try
                {
                    Work(i, scratch);
                }
                finally
                {
                    sum.Add(scratch.Length);
                }
            }
            catch (DataException exception) when (exception.Bytes.Length == scratch.Length)
            {
                sum.Add(exception.Message);
                string message = exception.Message;
                Manual.Delete(exception);
                Manual.Delete(message);
            }
            catch (ArgumentException exception)
            {
                sum.Add(exception.ParamName!);
                Manual.Delete(exception);
            }
            Manual.Delete(scratch);
        }
        Console.WriteLine(sum);
    }

    private static void Work(int i, byte[] scratch)
    {
        scratch.AsSpan().Fill((byte)i);
        if (i % 3 == 0)
            throw new DataException("number " + i, scratch);
        if (i % 3 == 1)
            throw new ArgumentException("bad", "parameter");
    }
}
