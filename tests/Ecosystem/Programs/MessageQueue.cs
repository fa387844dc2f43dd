using NetMQ;
using NetMQ.Sockets;

namespace Freehold.Differential.Programs;

/// <summary>NetMQ: requests and answers between threads over loopback.</summary>
internal static class MessageQueue
{
    private const int Requests = 2000;

    public static void Run()
    {
        int answered = 0;
        using (var server = new ResponseSocket("@tcp://127.0.0.1:0"))
        {
            var thread = new Thread(() =>
            {
                for (int i = 0; i < Requests; i++)
                    server.SendFrame(server.ReceiveFrameString() + "!");
            });
            thread.Start();
            using var client = new RequestSocket(">" + server.Options.LastEndpoint);
            for (int i = 0; i < Requests; i++)
            {
                client.SendFrame("m" + i);
                answered += client.ReceiveFrameString() == "m" + i + "!" ? 1 : 0;
            }

            thread.Join();
        }

        NetMQConfig.Cleanup(block: false);
        Console.WriteLine(answered);
    }
}
