using System.Net.WebSockets;
using System.Text;

namespace Freehold.Differential.Programs;

/// <summary>ASP.NET Core: WebSockets that answer, four clients at once.</summary>
internal static class WebSocketServer
{
    private const int Clients = 4, Messages = 1000;

    public static void Run() => RunAsync().GetAwaiter().GetResult();

    private static async Task RunAsync()
    {
        await using WebApplication application = WebHost.CreateBuilder().Build();
        application.UseWebSockets();
        application.Map("/echo", async (HttpContext context) =>
        {
            using WebSocket socket = await context.WebSockets.AcceptWebSocketAsync();
            await EchoAsync(socket);
        });
        await application.StartAsync();
        var address = new Uri(application.Urls.First().Replace("http", "ws") + "/echo");
        int[] answers = await Task.WhenAll(Enumerable.Range(0, Clients).Select(i => Task.Run(() => TalkAsync(address, i))));
        Console.WriteLine(string.Join(' ', answers));
        await application.StopAsync();
    }

    private static async Task EchoAsync(WebSocket socket)
    {
        byte[] buffer = new byte[4096];
        while (true)
        {
            ValueWebSocketReceiveResult received = await socket.ReceiveAsync(buffer.AsMemory(), default);
            if (received.MessageType == WebSocketMessageType.Close)
                break;
            await socket.SendAsync(buffer.AsMemory(0, received.Count), received.MessageType, received.EndOfMessage, default);
        }

        await socket.CloseAsync(WebSocketCloseStatus.NormalClosure, "", default);
        Manual.Delete(buffer);
    }

    private static async Task<int> TalkAsync(Uri address, int client)
    {
        using var socket = new ClientWebSocket();
        await socket.ConnectAsync(address, default);
        byte[] buffer = new byte[4096];
        int right = 0;
        for (int i = 0; i < Messages; i++)
        {
            byte[] message = Encoding.UTF8.GetBytes($"{client}-{i} {new string('x', i)}");
            await socket.SendAsync(message, WebSocketMessageType.Text, true, default);
            WebSocketReceiveResult received = await socket.ReceiveAsync(buffer, default);
            right += buffer.AsSpan(0, received.Count).SequenceEqual(message) ? 1 : 0;
            Manual.Delete(message);
        }

        await socket.CloseAsync(WebSocketCloseStatus.NormalClosure, "", default);
        Manual.Delete(buffer);
        return right;
    }
}
