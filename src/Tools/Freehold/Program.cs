using System.CommandLine;
using System.CommandLine.Help;
using System.CommandLine.Parsing;
using Freehold.Tool.Commands;
using Freehold.Tool.Doctor;
using Spectre.Console;

namespace Freehold.Tool;

/// <summary>The dotnet tool `freehold`.</summary>
internal static class Program
{
    public static Task<int> Main(string[] args) => Run(args, Console.Out, Console.Error, new LinuxMachine());

    /// <summary>The whole tool, on writers and a machine that a test may choose.</summary>
    internal static async Task<int> Run(IReadOnlyList<string> args, TextWriter output, TextWriter error, IMachine machine)
    {
        // No RootCommand, which has the name of the assembly.
        var root = new Command("freehold", "Looks into programs that were published with Freehold, and at the machine that they run on.");
        root.Options.Add(new HelpOption { Recursive = true });
        root.Options.Add(new VersionOption());
        root.Subcommands.Add(DoctorCommand.Create(machine, output));
        root.Subcommands.Add(StatCommand.Create(output));
        root.Subcommands.Add(LeaksCommand.Create(output));
        root.Subcommands.Add(VerifyCommand.Create(output));
        root.Subcommands.Add(DumpCommand.Create(output));
        root.Subcommands.Add(AnalyzeCommand.Create(output));
        root.Subcommands.Add(DeathsCommand.Create(output));
        ParseResult result = root.Parse(args);
        try
        {
            int code = await result.InvokeAsync(new InvocationConfiguration { Output = output, Error = error, EnableDefaultExceptionHandler = false }).ConfigureAwait(false);
            return result.Errors.Count != 0 ? ExitCode.WrongUsage : code;
        }
        catch (ToolException exception)
        {
            error.WriteLine($"freehold: {Views.PlainText.Of(exception.Message)}");
            return ExitCode.NoAnswer;
        }
        catch (OutOfMemoryException)
        {
            error.WriteLine("freehold: there is not enough memory here for so much: a dump takes 40 bytes for each object and 12 for each reference.");
            return ExitCode.NoAnswer;
        }
        catch (OperationCanceledException)
        {
            // Ctrl+C ends a live view. Of another command it says that there is no answer.
            return args is ["stat", ..] && !args.Contains("--once") ? ExitCode.Good : ExitCode.NoAnswer;
        }
    }

    /// <summary>With colours where the output is a terminal.</summary>
    internal static IAnsiConsole On(TextWriter output) => AnsiConsole.Create(new AnsiConsoleSettings
    {
        Out = new AnsiConsoleOutput(output),
        Ansi = ReferenceEquals(output, Console.Out) && !Console.IsOutputRedirected ? AnsiSupport.Detect : AnsiSupport.No,
    });
}
