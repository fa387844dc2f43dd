using System.Net;
using System.Net.Sockets;

namespace Freehold.Differential.Programs;

/// <summary>An echo server and eight clients over loopback, asynchronous and blocking.</summary>
internal static partial class TcpSockets
{
    public static void Run() => RunAsync().GetAwaiter().GetResult();

    private static async Task RunAsync()
    {
        using var listener = new TcpListener(IPAddress.Loopback, 0);
        listener.Start();
        int port = ((IPEndPoint)listener.LocalEndpoint).Port;
        Task server = Task.Run(async () =>
        {
            var handlers = new List<Task>();
            for (int i = 0; i < 8; i++)
            {
                TcpClient client = await listener.AcceptTcpClientAsync();
                client.NoDelay = true;
                handlers.Add(EchoAsync(client));
            }
            await Task.WhenAll(handlers);
        });
        string[] results = await Task.WhenAll(Enumerable.Range(0, 8).Select(id => id % 2 == 0 ? ClientAsync(port, id) : Task.Run(() => BlockingClient(port, id))));
        await server;
        foreach (string result in results)
            Console.WriteLine(result);
        listener.Stop();
        try
        {
            using var refused = new TcpClient();
            await refused.ConnectAsync(IPAddress.Loopback, port);
            Console.WriteLine("connected to a closed port");
        }
        catch (SocketException exception)
        {
            Console.WriteLine(exception.SocketErrorCode);
        }
    }

    private static async Task EchoAsync(TcpClient client)
    {
        using (client)
        {
            NetworkStream stream = client.GetStream();
            byte[] buffer = new byte[3_000];
            int read;
            while ((read = await stream.ReadAsync(buffer)) > 0)
                await stream.WriteAsync(buffer.AsMemory(0, read));
        }
    }

    private static async Task<string> ClientAsync(int port, int id)
    {
        using var client = new TcpClient();
        await client.ConnectAsync(IPAddress.Loopback, port);
        NetworkStream stream = client.GetStream();
        var sum = new Checksum();
        byte[] received = new byte[5_000];
        for (int i = 0; i < 30; i++)
        {
            byte[] message = new byte[1_000 + i * 100];
            new Random(id * 100 + i).NextBytes(message);
            await stream.WriteAsync(message);
            await stream.ReadExactlyAsync(received.AsMemory(0, message.Length));
            sum.Add(received.AsSpan(0, message.Length));
        }
        client.Client.Shutdown(SocketShutdown.Send);
        return $"{id} {sum} {await stream.ReadAsync(received)}";
    }

    private static string BlockingClient(int port, int id)
    {
        using var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        socket.Connect(IPAddress.Loopback, port);
        var sum = new Checksum();
        Span<byte> received = stackalloc byte[512];
        for (int i = 0; i < 60; i++)
        {
            byte[] message = new byte[64 + i];
            new Random(id * 100 + i).NextBytes(message);
            socket.Send([new ArraySegment<byte>(message, 0, 10), new ArraySegment<byte>(message, 10, message.Length - 10)]);
            int got = 0;
            while (got < message.Length)
                got += socket.Receive(received[got..message.Length]);
            sum.Add(received[..got]);
        }
        socket.Shutdown(SocketShutdown.Send);
        return $"{id} {sum} {socket.Receive(received)}";
    }
}
