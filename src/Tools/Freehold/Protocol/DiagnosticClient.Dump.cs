namespace Freehold.Tool.Protocol;

/// <summary>Dumps, which only the tool asks for: Freehold.BenchmarkDotNet compiles the rest of this class alone.</summary>
internal static partial class DiagnosticClient
{
    /// <summary>Writes a dump of its heap, which is whole. The limit is for the time in which nothing comes.</summary>
    /// <exception cref="ToolException">There is none.</exception>
    public static async Task DumpAsync(int process, Command command, Stream file, TimeSpan limit, CancellationToken cancellation) =>
        await DumpAsync(SocketFinder.Find(process), process, command, file, limit, cancellation).ConfigureAwait(false);

    /// <summary>The same of a socket's path.</summary>
    public static async Task DumpAsync(string path, int process, Command command, Stream file, TimeSpan limit, CancellationToken cancellation)
    {
        await TalkAsync(path, process, command, limit, cancellation, async (socket, frame, timer) =>
        {
            if (frame.Length != Frame.Streamed)
            {
                throw new ToolException("the process answers with something else than a dump.");
            }

            // Not to the end of the connection: a child that the program has forked meanwhile may have it, too.
            byte[] bytes = new byte[1 << 16];
            var end = new Dumps.DumpEnd();
            while (!end.IsReached)
            {
                timer.CancelAfter(limit);
                int got = await socket.ReceiveAsync(bytes, timer.Token).ConfigureAwait(false);
                if (got == 0)
                {
                    throw new ToolException("the dump was cut off: the process has ended, or its child that writes the dump has, as where memory is short.");
                }

                end.Take(bytes.AsSpan(0, got));
                await file.WriteAsync(bytes.AsMemory(0, got), timer.Token).ConfigureAwait(false);
            }

            return true;
        }).ConfigureAwait(false);
        file.Position = 0;
        new Dumps.DumpFrames(file, "what the process has sent").CheckAll();
    }
}
