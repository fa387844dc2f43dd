using System.Net;
using System.Net.Sockets;

namespace Freehold.Differential.Programs;

/// <summary>Datagrams and Unix-domain sockets.</summary>
internal static partial class OtherSockets
{
    public static void Run()
    {
        using (var receiver = new Socket(AddressFamily.InterNetwork, SocketType.Dgram, ProtocolType.Udp))
        using (var sender = new Socket(AddressFamily.InterNetwork, SocketType.Dgram, ProtocolType.Udp))
        {
            receiver.Bind(new IPEndPoint(IPAddress.Loopback, 0));
            var sum = new Checksum();
            byte[] buffer = new byte[2_000];
            EndPoint from = new IPEndPoint(IPAddress.Any, 0);
            for (int i = 0; i < 200; i++)
            {
                byte[] message = new byte[i * 5 + 1];
                new Random(i).NextBytes(message);
                sender.SendTo(message, receiver.LocalEndPoint!);
                int length = receiver.ReceiveFrom(buffer, ref from);
                sum.Add(buffer.AsSpan(0, length));
            }
            Console.WriteLine(sum + " " + ((IPEndPoint)from).Address);
        }
        string path = Path.Combine(Path.GetTempPath(), "freehold-" + Guid.NewGuid().ToString("N") + ".sock");
        try
        {
            using var listener = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
            listener.Bind(new UnixDomainSocketEndPoint(path));
            listener.Listen(4);
            Task<string> server = Task.Run(() =>
            {
                using Socket peer = listener.Accept();
                using var reader = new StreamReader(new NetworkStream(peer));
                var sum = new Checksum();
                int lines = 0;
                while (reader.ReadLine() is { } line)
                {
                    sum.Add(line);
                    lines++;
                }
                return lines + " " + sum;
            });
            using (var client = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified))
            {
                client.Connect(new UnixDomainSocketEndPoint(path));
                using var writer = new StreamWriter(new NetworkStream(client, ownsSocket: true));
                for (int i = 0; i < 4_000; i++)
                    writer.WriteLine("line " + i * i);
            }
            Console.WriteLine(server.Result);
        }
        finally
        {
            File.Delete(path);
        }
    }
}
