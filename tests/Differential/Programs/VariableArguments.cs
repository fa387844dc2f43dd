namespace Freehold.Differential.Programs;

/// <summary>Calls with variable arguments, which no compiler ahead of time has: each says so, and names the method. In a class of its own, as the compiler refuses lambdas beside them too.</summary>
internal static partial class VariableArguments
{
    private static int Of(string text, __arglist) => text.Length;

    private static long Of(long number, __arglist) => number;

    public static void Run()
    {
        Try(0);
        Try(1);
        Console.WriteLine(Either(false));
    }

    private static object Call(int which) => which == 0 ? Of("text", __arglist(1, "two")) : Of(5L, __arglist());

    private static string Either(bool wanted) => wanted ? Call(0).ToString()! : "not called";

    private static void Try(int which)
    {
        try
        {
            Console.WriteLine(Call(which));
        }
        catch (InvalidProgramException exception)
        {
            Console.WriteLine(exception.GetType().Name + " " + exception.Message);
        }
    }
}
