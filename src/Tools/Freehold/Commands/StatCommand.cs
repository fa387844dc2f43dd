using System.CommandLine;
using System.Text.Json;
using Freehold.Tool.Protocol;
using Freehold.Tool.Views;
using Spectre.Console;

namespace Freehold.Tool.Commands;

/// <summary>`freehold stat PID`: the figures of the heap, once or as they change.</summary>
internal static class StatCommand
{
    public static System.CommandLine.Command Create(TextWriter output)
    {
        Argument<int> process = CommonOptions.Process();
        Option<bool> json = CommonOptions.Json();
        Option<int> timeout = CommonOptions.Timeout();
        var once = new Option<bool>("--once") { Description = "Prints the figures once; without it, again and again until Ctrl+C. Taken for granted where the output is no terminal." };
        var all = new Option<bool>("--all") { Description = "All figures, not only the most important ones. docs/statistics.md says what each means." };
        var interval = new Option<double>("--interval") { Description = "How many seconds pass between two looks.", HelpName = "SECONDS", DefaultValueFactory = _ => 1 };
        interval.Validators.Add(result =>
        {
            if (result.Tokens.Count == 1 && (!double.TryParse(result.Tokens[0].Value, System.Globalization.CultureInfo.InvariantCulture, out double seconds) || seconds is not (>= 0.1 and <= 3600)))
            {
                result.AddError($"--interval takes a number of seconds from 0.1 to 3600, not '{result.Tokens[0].Value}'.");
            }
        });
        var command = new System.CommandLine.Command("stat", "Shows what the heap of a process holds and does.") { process, once, all, interval, json, timeout };
        command.SetAction(async (parsed, cancellation) =>
        {
            int number = parsed.GetValue(process);
            var limit = TimeSpan.FromSeconds(parsed.GetValue(timeout));
            if (parsed.GetValue(json) && parsed.GetValue(once))
            {
                output.WriteLine(await AskAsync(number, limit, cancellation).ConfigureAwait(false));
                return ExitCode.Good;
            }

            var pause = TimeSpan.FromSeconds(parsed.GetValue(interval));
            if (parsed.GetValue(json))
            {
                for (; ; await Task.Delay(pause, cancellation).ConfigureAwait(false))
                {
                    output.WriteLine(await AskAsync(number, limit, cancellation).ConfigureAwait(false));
                    output.Flush();
                }
            }

            IAnsiConsole console = Program.On(output);
            var view = new StatView(number, parsed.GetValue(all));
            await LookAsync(view, number, limit, cancellation).ConfigureAwait(false);
            if (parsed.GetValue(once) || !console.Profile.Capabilities.Ansi)
            {
                console.Write(view.Render());
                return ExitCode.Good;
            }

            await console.Live(view.Render()).AutoClear(false).StartAsync(async live =>
            {
                while (true)
                {
                    await Task.Delay(pause, cancellation).ConfigureAwait(false);
                    await LookAsync(view, number, limit, cancellation).ConfigureAwait(false);
                    live.UpdateTarget(view.Render());
                }
            }).ConfigureAwait(false);
            return ExitCode.Good;
        });
        return command;
    }

    private static async Task<string> AskAsync(int process, TimeSpan limit, CancellationToken cancellation)
    {
        using JsonDocument answer = await DiagnosticClient.AskAsync(process, Protocol.Command.Stat, limit, cancellation).ConfigureAwait(false);
        return JsonSerializer.Serialize(answer.RootElement);
    }

    private static async Task LookAsync(StatView view, int process, TimeSpan limit, CancellationToken cancellation)
    {
        using JsonDocument answer = await DiagnosticClient.AskAsync(process, Protocol.Command.Stat, limit, cancellation).ConfigureAwait(false);
        view.Take(Figure.ReadAll(answer.RootElement), Answer.Text(answer.RootElement, "heldUpBy"), TimeProvider.System.GetTimestamp());
    }
}
