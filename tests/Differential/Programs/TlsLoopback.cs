using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using System.Text;

namespace Freehold.Differential.Programs;

/// <summary>Encrypted connections to itself, many at once: certificates, OpenSSL's callbacks, requests over <see cref="HttpClient"/>, connections that break off.</summary>
internal static partial class TlsLoopback
{
    public static void Run() => RunAsync().GetAwaiter().GetResult();

    private static X509Certificate2 Certificate()
    {
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = new CertificateRequest("CN=freehold.test", key, HashAlgorithmName.SHA256);
        var names = new SubjectAlternativeNameBuilder();
        names.AddDnsName("localhost");
        request.CertificateExtensions.Add(names.Build());
        request.CertificateExtensions.Add(new X509BasicConstraintsExtension(false, false, 0, true));
        using X509Certificate2 made = request.CreateSelfSigned(DateTimeOffset.UtcNow.AddDays(-1), DateTimeOffset.UtcNow.AddDays(1));
        return X509CertificateLoader.LoadPkcs12(made.Export(X509ContentType.Pkcs12, "password"), "password");
    }

    private static async Task RunAsync()
    {
        using X509Certificate2 certificate = Certificate();
        using var listener = new TcpListener(IPAddress.Loopback, 0);
        listener.Start(100);
        int port = ((IPEndPoint)listener.LocalEndpoint).Port;
        using var stop = new CancellationTokenSource();
        Task server = Serve(listener, certificate, stop.Token);
        int validated = 0;
        await Task.WhenAll(Enumerable.Range(0, 12).Select(async i =>
        {
            using var socket = new TcpClient();
            await socket.ConnectAsync(IPAddress.Loopback, port);
            await using var stream = new SslStream(socket.GetStream(), false, (_, remote, _, errors) =>
            {
                Interlocked.Increment(ref validated);
                return remote!.Subject == "CN=freehold.test" && errors.HasFlag(SslPolicyErrors.RemoteCertificateChainErrors);
            });
            await stream.AuthenticateAsClientAsync("localhost");
            byte[] request = Encoding.ASCII.GetBytes($"POST /raw/{i} HTTP/1.1\r\nContent-Length: {i * 1000}\r\nConnection: close\r\n\r\n");
            await stream.WriteAsync(request);
            await stream.WriteAsync(new byte[i * 1000]);
            using var reader = new StreamReader(stream, Encoding.ASCII);
            string answer = await reader.ReadToEndAsync();
            if (!answer.EndsWith($"/raw/{i} {i * 1000} 0"))
                throw new InvalidOperationException(answer);
            Manual.Delete(request);
        }));
        Console.WriteLine(validated);

        // Connections that break off in the middle of the handshake, or behind it.
        for (int i = 0; i < 6; i++)
        {
            using var socket = new TcpClient();
            await socket.ConnectAsync(IPAddress.Loopback, port);
            await socket.GetStream().WriteAsync(new byte[] { 22, 3, 1, 0, (byte)(i * 40), 1 });
            socket.Client.LingerState = new LingerOption(true, 0);
        }

        using var handler = new SocketsHttpHandler { MaxConnectionsPerServer = 4 };
        handler.SslOptions.RemoteCertificateValidationCallback = (_, remote, chain, _) => remote is not null && chain is not null;
        using var client = new HttpClient(handler) { BaseAddress = new Uri($"https://localhost:{port}/") };
        string[] texts = await Task.WhenAll(Enumerable.Range(0, 60).Select(async i =>
        {
            using var content = new ByteArrayContent(Enumerable.Range(0, i * 50).Select(n => (byte)n).ToArray());
            using HttpResponseMessage response = await client.PostAsync("http/" + i, content);
            return (int)response.StatusCode + " " + await response.Content.ReadAsStringAsync();
        }));
        var sum = new Checksum();
        foreach (string text in texts)
            sum.Add(text);
        Console.WriteLine(sum + " " + texts[7]);
        try
        {
            using var strict = new HttpClient();
            await strict.GetAsync($"https://localhost:{port}/strict");
            Console.WriteLine("nothing");
        }
        catch (HttpRequestException exception)
        {
            Console.WriteLine(exception.InnerException!.GetType().Name + " " + exception.HttpRequestError);
        }
        await stop.CancelAsync();
        await server;
        Console.WriteLine("stopped");
    }

    private static async Task Serve(TcpListener listener, X509Certificate2 certificate, CancellationToken stop)
    {
        var connections = new List<Task>();
        try
        {
            while (true)
                connections.Add(Answer(await listener.AcceptTcpClientAsync(stop), certificate));
        }
        catch (OperationCanceledException)
        {
        }
        await Task.WhenAny(Task.WhenAll(connections), Task.Delay(2_000, CancellationToken.None));
    }

    private static async Task Answer(TcpClient socket, X509Certificate2 certificate)
    {
        using (socket)
        {
            try
            {
                await using var stream = new SslStream(socket.GetStream());
                await stream.AuthenticateAsServerAsync(certificate);
                while (await Request(stream))
                    continue;
            }
            catch (Exception exception) when (exception is IOException or System.Security.Authentication.AuthenticationException or ObjectDisposedException)
            {
            }
        }
    }

    private static async Task<bool> Request(SslStream stream)
    {
        var lines = new List<string>();
        while (true)
        {
            string? line = await Line(stream);
            if (line is null)
                return false;
            if (line.Length == 0)
                break;
            lines.Add(line);
        }
        int length = lines.Where(line => line.StartsWith("Content-Length:")).Select(line => int.Parse(line.AsSpan(15))).FirstOrDefault();
        byte[] body = new byte[length];
        await stream.ReadExactlyAsync(body);
        string answer = $"{lines[0].Split(' ')[1]} {length} {body.Sum(value => value)}";
        await stream.WriteAsync(Encoding.ASCII.GetBytes($"HTTP/1.1 200 OK\r\nContent-Length: {answer.Length}\r\n\r\n{answer}"));
        Manual.Delete(body);
        return !lines.Contains("Connection: close");
    }

    private static async Task<string?> Line(SslStream stream)
    {
        var line = new StringBuilder();
        byte[] one = new byte[1];
        while (await stream.ReadAsync(one) == 1)
        {
            if (one[0] == '\n')
                return line.ToString();
            if (one[0] != '\r')
                line.Append((char)one[0]);
        }
        return null;
    }
}
