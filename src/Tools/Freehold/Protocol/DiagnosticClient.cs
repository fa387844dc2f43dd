using System.Net.Sockets;
using System.Runtime.InteropServices;
using System.Text.Json;

namespace Freehold.Tool.Protocol;

/// <summary>Asks a process. Each question has a connection of its own.</summary>
internal static partial class DiagnosticClient
{
    // Beyond it, it is no answer.
    private const ulong MostBytes = 256 << 20;

    private static readonly TimeSpan s_betweenTries = TimeSpan.FromMilliseconds(20);

    /// <summary>The answer, which is JSON.</summary>
    /// <exception cref="ToolException">There is none.</exception>
    public static async Task<JsonDocument> AskAsync(int process, Command command, TimeSpan limit, CancellationToken cancellation) =>
        await AskAsync(SocketFinder.Find(process), process, command, limit, cancellation).ConfigureAwait(false);

    /// <summary>The same of a socket's path, on which that process must listen.</summary>
    public static async Task<JsonDocument> AskAsync(string path, int process, Command command, TimeSpan limit, CancellationToken cancellation)
    {
        try
        {
            return await TalkAsync(path, process, command, limit, cancellation, async (socket, frame, timer) =>
                JsonDocument.Parse(await ReceiveTextAsync(socket, frame, timer.Token).ConfigureAwait(false))).ConfigureAwait(false);
        }
        catch (JsonException exception)
        {
            throw new ToolException($"the answer of the process cannot be read: {exception.Message}");
        }
    }

    private static async Task<T> TalkAsync<T>(string path, int process, Command command, TimeSpan limit, CancellationToken cancellation, Func<Socket, Frame, CancellationTokenSource, Task<T>> receive)
    {
        using var timer = CancellationTokenSource.CreateLinkedTokenSource(cancellation);
        timer.CancelAfter(limit);
        try
        {
            using Socket socket = await ConnectAsync(path, timer.Token).ConfigureAwait(false);
            CheckWhoListens(socket, process);
            await socket.SendAsync(Frame.Request(command).ToBytes(), timer.Token).ConfigureAwait(false);
            var frame = Frame.Parse(await ReceiveAsync(socket, Frame.Size, timer.Token).ConfigureAwait(false));
            return frame.Code == (ushort)Status.Done
                ? await receive(socket, frame, timer).ConfigureAwait(false)
                : throw new ToolException($"the process refuses: {System.Text.Encoding.UTF8.GetString(await ReceiveTextAsync(socket, frame, timer.Token).ConfigureAwait(false))}");
        }
        catch (OperationCanceledException) when (!cancellation.IsCancellationRequested)
        {
            throw new ToolException($"no answer within {limit.TotalSeconds:0} seconds. The process may be stopped, or the answer takes long: --timeout gives it more time.");
        }
        catch (SocketException exception)
        {
            throw new ToolException($"the process cannot be asked at {path}: {exception.Message}");
        }
        catch (ArgumentException exception)
        {
            throw new ToolException($"the path {path} is none for a socket: {exception.Message}");
        }
    }

    private static async Task<byte[]> ReceiveTextAsync(Socket socket, Frame frame, CancellationToken cancellation) =>
        frame.Length <= MostBytes
            ? await ReceiveAsync(socket, (int)frame.Length, cancellation).ConfigureAwait(false)
            : throw new ToolException($"the process announces an answer of {frame.Length} bytes, which cannot be.");

    private static async Task<Socket> ConnectAsync(string path, CancellationToken cancellation)
    {
        var address = new UnixDomainSocketEndPoint(path);
        while (true)
        {
            var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
            try
            {
                await socket.ConnectAsync(address, cancellation).ConfigureAwait(false);
                return socket;
            }
            catch (SocketException exception) when (exception.SocketErrorCode is SocketError.WouldBlock or SocketError.TryAgain)
            {
                // Too many wait for the process already.
                socket.Dispose();
                await Task.Delay(s_betweenTries, cancellation).ConfigureAwait(false);
            }
            catch
            {
                socket.Dispose();
                throw;
            }
        }
    }

    // The path may lead through links of the process's own making to a socket of somebody else, or another process may have it by now. The kernel knows who listens.
    private static void CheckWhoListens(Socket socket, int process)
    {
        const int SocketLevel = 1, PeerCredentials = 17;
        Span<int> credentials = stackalloc int[3];  // process, user, group
        socket.GetRawSocketOption(SocketLevel, PeerCredentials, MemoryMarshal.AsBytes(credentials));
        if (credentials[0] != process)
        {
            throw new ToolException(credentials[0] == 0
                ? $"process {process} is in another namespace of processes than this tool, so the kernel does not say who listens at its socket. Run the tool where the number of the process is from."
                : $"process {credentials[0]} listens at the socket of process {process}, which is therefore not asked.");
        }
    }

    private static async Task<byte[]> ReceiveAsync(Socket socket, int size, CancellationToken cancellation)
    {
        byte[] bytes = new byte[size];
        for (int got = 0; got < size;)
        {
            int more = await socket.ReceiveAsync(bytes.AsMemory(got), cancellation).ConfigureAwait(false);
            if (more == 0)
            {
                throw new ToolException("the process has ended the connection before its answer was complete: it may have ended.");
            }

            got += more;
        }

        return bytes;
    }
}
