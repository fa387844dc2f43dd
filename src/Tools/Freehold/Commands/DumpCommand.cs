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
        var command = new System.CommandLine.Command("dump", "Writes what the heap of a process holds to a file: objects, types, sizes, references and roots, no contents. The threads of the process stop while it forks; a child writes.") { process, file, timeout };
        command.SetAction(async (parsed, cancellation) =>
        {
            int number = parsed.GetValue(process);
            string path = parsed.GetValue(file) is { Length: > 0 } given ? given
                : string.Create(CultureInfo.InvariantCulture, $"heap-{number}-{DateTime.UtcNow:yyyyMMdd-HHmmss}.fhdump");
            long bytes = await WriteAsync(number, path, TimeSpan.FromSeconds(parsed.GetValue(timeout)), cancellation).ConfigureAwait(false);
            output.WriteLine($"{path}: {Quantity.Bytes(bytes)}. 'freehold analyze {path}' says what is in it.");
            return ExitCode.Good;
        });
        return command;
    }

    // For this user's eyes, and under its name only when it is whole.
    private static async Task<long> WriteAsync(int process, string path, TimeSpan limit, CancellationToken cancellation)
    {
        if (Path.Exists(path))
        {
            throw new ToolException($"there is a file {path} already. Choose another with --output.");
        }

        string unfinished = path + ".part";
        FileStream stream;
        try
        {
            stream = new FileStream(unfinished, new FileStreamOptions { Mode = FileMode.CreateNew, Access = FileAccess.ReadWrite, UnixCreateMode = UnixFileMode.UserRead | UnixFileMode.UserWrite });
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            throw new ToolException($"{unfinished} cannot be made: {exception.Message}");
        }

        bool whole = false;
        try
        {
            await using (stream.ConfigureAwait(false))
            {
                await DiagnosticClient.DumpAsync(process, stream, limit, cancellation).ConfigureAwait(false);
                long bytes = stream.Length;
                File.Move(unfinished, path, overwrite: false);
                whole = true;
                return bytes;
            }
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            throw new ToolException($"{path} cannot be written: {exception.Message}");
        }
        finally
        {
            if (!whole)
            {
                File.Delete(unfinished);
            }
        }
    }
}
