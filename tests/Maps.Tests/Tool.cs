namespace Freehold.Maps.Tests;

/// <summary>Runs freehold-maps in this process.</summary>
internal static class Tool
{
    public static (int Code, string Output, string Error) Run(params string[] args)
    {
        StringWriter output = new();
        StringWriter error = new();
        int code = Program.Run(args, output, error);
        return (code, output.ToString(), error.ToString());
    }
}
