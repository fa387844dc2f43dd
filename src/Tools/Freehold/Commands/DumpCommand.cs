using System.CommandLine;
using System.Globalization;
using Freehold.Tool.Dumps;
using Freehold.Tool.Protocol;
using Freehold.Tool.Views;

namespace Freehold.Tool.Commands;

/// <summary>`freehold dump PID`: what the heap of a process holds, into a file.</summary>
internal static class DumpCommand
{
    public static System.CommandLine.Command Create(TextWriter output)
    {
        Argument<int> process = CommonOptions.Process();
        Option<int> timeout = CommonOptions.Timeout();
        var file = new Option<string>("--output", "-o") { Description = "Where to, a file that is not there yet; heap-PID-TIME.fhdump in the current folder if not given.", HelpName = "FILE" };
        var anyway = new Option<bool>("--anyway") { Description = "Also of a process with the meshing malloc, which does not mesh any more what it has until now." };
        var command = new System.CommandLine.Command("dump", "Writes what the heap of a process holds to a file: objects, types, sizes, references and roots, no contents. The threads of the process stop while it forks; a child writes.") { process, file, anyway, timeout };
        command.SetAction(async (parsed, cancellation) =>
        {
            int number = parsed.GetValue(process);
            string path = parsed.GetValue(file) is { Length: > 0 } given ? given
                : string.Create(CultureInfo.InvariantCulture, $"heap-{number}-{DateTime.UtcNow:yyyyMMdd-HHmmss}.fhdump");
            long bytes = await WriteAsync(number, parsed.GetValue(anyway) ? Protocol.Command.DumpAnyway : Protocol.Command.Dump, path, TimeSpan.FromSeconds(parsed.GetValue(timeout)), cancellation).ConfigureAwait(false);
            output.WriteLine($"{path}: {Quantity.Bytes(bytes)}. 'freehold analyze {path}' says what is in it.");
            return ExitCode.Good;
        });
        return command;
    }

    private static async Task<long> WriteAsync(int process, Protocol.Command command, string path, TimeSpan limit, CancellationToken cancellation)
    {
        try
        {
            return await NewFile.WriteAsync(path, stream => DiagnosticClient.DumpAsync(process, command, stream, limit, cancellation)).ConfigureAwait(false);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            throw new ToolException($"{path} cannot be written: {exception.Message}");
        }
    }
}
