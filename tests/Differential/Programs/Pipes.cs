using System.IO.Pipes;

namespace Freehold.Differential.Programs;

/// <summary>Anonymous and named pipes between threads.</summary>
internal static partial class Pipes
{
    public static void Run()
    {
        using (var server = new AnonymousPipeServerStream(PipeDirection.Out))
        using (var client = new AnonymousPipeClientStream(PipeDirection.In, server.ClientSafePipeHandle))
        {
            var writer = new Thread(() =>
            {
                using var text = new StreamWriter(server, leaveOpen: true);
                for (int i = 0; i < 5_000; i++)
                    text.WriteLine("message " + i * 7);
                text.WriteLine("end");
            });
            writer.Start();
            using var reader = new StreamReader(client);
            var sum = new Checksum();
            while (reader.ReadLine() is { } line && line != "end")
                sum.Add(line);
            writer.Join();
            Console.WriteLine(sum);
        }
        string name = "freehold-" + Guid.NewGuid().ToString("N");
        Task<string> reply = Task.Run(async () =>
        {
            await using var server = new NamedPipeServerStream(name, PipeDirection.InOut, 1, PipeTransmissionMode.Byte, PipeOptions.Asynchronous);
            await server.WaitForConnectionAsync();
            byte[] buffer = new byte[1_000];
            long total = 0;
            for (int i = 0; i < 50; i++)
            {
                await server.ReadExactlyAsync(buffer);
                total += buffer.Sum(value => value);
                await server.WriteAsync(BitConverter.GetBytes(total));
            }
            return "server " + total;
        });
        using (var client = new NamedPipeClientStream(".", name, PipeDirection.InOut))
        {
            client.Connect(20_000);
            byte[] answer = new byte[8];
            for (int i = 0; i < 50; i++)
            {
                byte[] message = new byte[1_000];
                new Random(i).NextBytes(message);
                client.Write(message);
                client.ReadExactly(answer);
            }
            Console.WriteLine("client " + BitConverter.ToInt64(answer));
        }
        Console.WriteLine(reply.Result);
    }
}
