using System.Runtime.CompilerServices;

namespace Freehold.Contract;

/// <summary>Thrown when the contract is not kept.</summary>
internal sealed class ContractException(string message) : Exception(message);

/// <summary>In-process assertions.</summary>
internal static class Expect
{
    public static void True(bool condition, [CallerArgumentExpression(nameof(condition))] string? what = null)
    {
        if (!condition)
            throw new ContractException("not so: " + what);
    }

    public static void Equal<T>(T expected, T actual, [CallerArgumentExpression(nameof(actual))] string? what = null)
    {
        if (!EqualityComparer<T>.Default.Equals(expected, actual))
            throw new ContractException($"{what} is {actual} and not {expected}");
    }

    public static TException Throws<TException>(Action action, [CallerArgumentExpression(nameof(action))] string? what = null)
        where TException : Exception
    {
        try
        {
            action();
        }
        catch (TException exception) when (exception.GetType() == typeof(TException))
        {
            return exception;
        }
        catch (Exception exception)
        {
            throw new ContractException($"{what} threw {exception.GetType().Name} and not {typeof(TException).Name}: {exception}");
        }
        throw new ContractException($"{what} did not throw {typeof(TException).Name}");
    }

    /// <summary>
    /// Waits for what another thread is about to do. By turns that this thread gets and not by the clock: on a busy machine neither gets many.
    /// </summary>
    public static void Eventually(Func<bool> condition, [CallerArgumentExpression(nameof(condition))] string? what = null)
    {
        for (int turn = 0; !condition(); turn++)
        {
            if (turn == 3_000)
                throw new ContractException("not even after a while: " + what);
            Thread.Sleep(10);
        }
    }

    /// <summary>Point 3: one of the two exceptions that a second delete may throw.</summary>
    public static void SecondDeleteThrows(object value)
    {
        try
        {
            Heap.Delete(value);
        }
        catch (Exception exception) when (exception is DoubleDeleteException or DanglingReferenceException)
        {
            return;
        }
        throw new ContractException("a second delete did not throw");
    }

    /// <summary>The line of the caller, to be compared with a stack trace.</summary>
    public static int Line([CallerLineNumber] int line = 0) => line;
}
