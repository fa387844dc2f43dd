using System.Net;
using System.Net.Sockets;
using System.Text;

namespace Freehold.Differential.Programs;

/// <summary>HttpClient against HttpListener: verbs, headers, bodies, errors, concurrency.</summary>
internal static partial class HttpLoopback
{
    public static void Run() => RunAsync().GetAwaiter().GetResult();

    private static int FreePort()
    {
        var probe = new TcpListener(IPAddress.Loopback, 0);
        probe.Start();
        int port = ((IPEndPoint)probe.LocalEndpoint).Port;
        probe.Stop();
        return port;
    }

    // Somebody else may get the port in between.
    private static HttpListener Listen(out string root)
    {
        for (int tries = 0; ; tries++)
        {
            var listener = new HttpListener();
            root = $"http://127.0.0.1:{FreePort()}/";
            listener.Prefixes.Add(root);
            try
            {
                listener.Start();
                return listener;
            }
            catch (HttpListenerException) when (tries < 20)
            {
                listener.Close();
            }
        }
    }

    private static async Task RunAsync()
    {
        using HttpListener listener = Listen(out string root);
        Task server = ServeAsync(listener);
        using var client = new HttpClient { BaseAddress = new Uri(root), Timeout = Timeout.InfiniteTimeSpan };
        client.DefaultRequestHeaders.Add("X-Client", "freehold");
        Console.WriteLine(await client.GetStringAsync("hello?name=a%20b&x=1"));
        using (HttpResponseMessage response = await client.GetAsync("missing"))
            Console.WriteLine((int)response.StatusCode + " " + response.Headers.GetValues("X-Reply").Single());
        string[] answers = await Task.WhenAll(Enumerable.Range(0, 40).Select(async i =>
        {
            using var content = new StringContent(new string((char)('a' + i % 26), i * 100), Encoding.UTF8, "text/plain");
            using HttpResponseMessage response = await client.PostAsync("sum/" + i, content);
            return await response.Content.ReadAsStringAsync();
        }));
        foreach (string answer in answers)
            Console.WriteLine(answer);
        var sum = new Checksum();
        await using (Stream stream = await client.GetStreamAsync("big"))
        {
            byte[] buffer = new byte[7_000];
            int read;
            while ((read = await stream.ReadAsync(buffer)) > 0)
            {
                for (int i = 0; i < read; i++)
                    sum.Add((long)buffer[i]);
            }
        }
        Console.WriteLine(sum);
        try
        {
            await client.GetStringAsync("missing");
        }
        catch (HttpRequestException exception)
        {
            Console.WriteLine(exception.StatusCode);
        }
        await client.DeleteAsync("stop");
        await server;
    }

    private static async Task ServeAsync(HttpListener listener)
    {
        while (true)
        {
            HttpListenerContext context = await listener.GetContextAsync();
            HttpListenerRequest request = context.Request;
            HttpListenerResponse response = context.Response;
            string path = request.Url!.AbsolutePath;
            response.Headers["X-Reply"] = request.Headers["X-Client"] + "!";
            byte[] body;
            if (path == "/hello")
            {
                body = Encoding.UTF8.GetBytes("hello " + request.QueryString["name"] + request.QueryString["x"]);
            }
            else if (path.StartsWith("/sum/", StringComparison.Ordinal))
            {
                using var reader = new StreamReader(request.InputStream);
                string text = await reader.ReadToEndAsync();
                body = Encoding.UTF8.GetBytes(path + " " + text.Sum(character => character) + " " + request.ContentType);
            }
            else if (path == "/big")
            {
                body = new byte[300_000];
                new Random(12).NextBytes(body);
            }
            else
            {
                response.StatusCode = path == "/stop" ? 200 : 404;
                body = [];
            }
            response.ContentLength64 = body.Length;
            await response.OutputStream.WriteAsync(body);
            response.Close();
            if (path == "/stop")
                return;
        }
    }
}
