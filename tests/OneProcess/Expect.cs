using System.Runtime.CompilerServices;

namespace Freehold.OneProcessTests;

internal static class Expect
{
    internal static void That(bool good, string what, [CallerFilePath] string file = "", [CallerLineNumber] int line = 0)
    {
        if (!good) throw new InvalidOperationException($"{Path.GetFileName(file)}:{line}: {what}");
    }

    internal static void Throws<T>(Action action, string part, [CallerLineNumber] int line = 0)
        where T : Exception
    {
        try
        {
            action();
        }
        catch (T exception)
        {
            That(exception.Message.Contains(part, StringComparison.Ordinal), $"line {line}: '{exception.Message}' does not say '{part}'");
            return;
        }

        That(false, $"line {line}: no {typeof(T).Name}");
    }
}
