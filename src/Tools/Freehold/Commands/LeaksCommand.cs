using System.CommandLine;
using System.Text.Json;
using Freehold.Tool.Protocol;
using Freehold.Tool.Views;

namespace Freehold.Tool.Commands;

/// <summary>`freehold leaks PID`: what the program has forgotten to delete.</summary>
internal static class LeaksCommand
{
    public static System.CommandLine.Command Create(TextWriter output)
    {
        Argument<int> process = CommonOptions.Process();
        Option<bool> json = CommonOptions.Json();
        Option<int> timeout = CommonOptions.Timeout();
        var top = new Option<int>("--top") { Description = "How many types, those with the most bytes.", HelpName = "N", DefaultValueFactory = _ => 20 };
        var command = new System.CommandLine.Command("leaks", "Finds objects that nothing reaches and nobody deleted, by type and place of allocation. The threads of the process stop while it marks.") { process, top, json, timeout };
        command.SetAction(async (parsed, cancellation) =>
        {
            using JsonDocument answer = await DiagnosticClient.AskAsync(parsed.GetValue(process), Protocol.Command.Leaks, TimeSpan.FromSeconds(parsed.GetValue(timeout)), cancellation).ConfigureAwait(false);
            if (parsed.GetValue(json))
            {
                output.WriteLine(JsonSerializer.Serialize(answer.RootElement));
            }
            else
            {
                LeaksView.Write(answer.RootElement, Math.Max(1, parsed.GetValue(top)), output);
            }

            return ExitCode.Good;
        });
        return command;
    }
}
