using System.CommandLine;

namespace Freehold.Tool.Commands;

/// <summary>What the commands that ask a process have in common.</summary>
internal static class CommonOptions
{
    public static Argument<int> Process()
    {
        var argument = new Argument<int>("PID") { Description = "The number of the process, which runs with FREEHOLD_DIAGNOSTICS=1." };
        argument.Validators.Add(result =>
        {
            if (result.Tokens.Count == 1 && (!int.TryParse(result.Tokens[0].Value, out int number) || number <= 0))
            {
                result.AddError($"'{result.Tokens[0].Value}' is no number of a process.");
            }
        });
        return argument;
    }

    public static Option<bool> Json() => new("--json") { Description = "Prints JSON." };

    public static Option<int> Timeout()
    {
        var option = new Option<int>("--timeout") { Description = "How many seconds the process has for its answer.", HelpName = "SECONDS", DefaultValueFactory = _ => 120 };
        option.Validators.Add(result =>
        {
            if (result.Tokens.Count == 1 && (!int.TryParse(result.Tokens[0].Value, out int seconds) || seconds is <= 0 or > 86_400))
            {
                result.AddError($"--timeout takes a number of seconds from 1 to 86400, not '{result.Tokens[0].Value}'.");
            }
        });
        return option;
    }
}
