using System.CommandLine;
using System.Text.Json;
using Freehold.Tool.Protocol;
using Freehold.Tool.Views;

namespace Freehold.Tool.Commands;

/// <summary>`freehold verify PID`: whether the heap of a process is whole.</summary>
internal static class VerifyCommand
{
    public static System.CommandLine.Command Create(TextWriter output)
    {
        Argument<int> process = CommonOptions.Process();
        Option<bool> json = CommonOptions.Json();
        Option<int> timeout = CommonOptions.Timeout();
        var command = new System.CommandLine.Command("verify", "Checks every invariant of the heap of a process. Its threads stop meanwhile. The exit code is 1 if the heap is damaged.") { process, json, timeout };
        command.SetAction(async (parsed, cancellation) =>
        {
            int number = parsed.GetValue(process);
            using JsonDocument answer = await DiagnosticClient.AskAsync(number, Protocol.Command.Verify, TimeSpan.FromSeconds(parsed.GetValue(timeout)), cancellation).ConfigureAwait(false);
            long violations = Answer.Number(answer.RootElement, "violations");
            output.WriteLine(parsed.GetValue(json) ? JsonSerializer.Serialize(answer.RootElement)
                : violations == 0 ? $"The heap of process {number} is whole: every invariant holds."
                : $"The heap of process {number} is damaged: {violations} violations. The first: {Answer.Text(answer.RootElement, "first")}");
            return violations == 0 ? ExitCode.Good : ExitCode.Found;
        });
        return command;
    }
}
