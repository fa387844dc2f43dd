using System.Net;
using Microsoft.AspNetCore.Server.Kestrel.Core;

namespace Freehold.Differential;

/// <summary>Kestrel on two ports of loopback that the system chooses: HTTP/1.1, and HTTP/2 without TLS.</summary>
internal static class WebHost
{
    public static WebApplicationBuilder CreateBuilder()
    {
        WebApplicationBuilder builder = WebApplication.CreateSlimBuilder();
        builder.Logging.ClearProviders();
        builder.WebHost.ConfigureKestrel(options =>
        {
            options.Listen(IPAddress.Loopback, 0);
            options.Listen(IPAddress.Loopback, 0, listen => listen.Protocols = HttpProtocols.Http2);
        });
        return builder;
    }

    /// <summary>A client of the started application for each of its ports.</summary>
    public static HttpClient[] CreateClients(WebApplication application) =>
    [
        .. application.Urls.Select((url, i) => new HttpClient
        {
            BaseAddress = new Uri(url),
            // On a busy machine an answer takes its time.
            Timeout = Timeout.InfiniteTimeSpan,
            DefaultRequestVersion = i == 0 ? HttpVersion.Version11 : HttpVersion.Version20,
            DefaultVersionPolicy = HttpVersionPolicy.RequestVersionExact,
        }),
    ];
}
