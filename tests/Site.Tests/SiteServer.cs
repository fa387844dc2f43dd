using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.StaticFiles;
using Microsoft.Extensions.FileProviders;
using Microsoft.Extensions.Logging;

namespace Freehold.Site.Tests;

/// <summary>Serves a folder on a free port of this machine, until it is disposed: a page's scripts may not read files.</summary>
internal sealed class SiteServer : IAsyncDisposable
{
    private readonly WebApplication _server;

    public SiteServer(string folder)
    {
        var builder = WebApplication.CreateSlimBuilder();
        builder.Logging.ClearProviders();
        builder.WebHost.UseUrls("http://127.0.0.1:0");
        _server = builder.Build();
        _server.UseStaticFiles(new StaticFileOptions
        {
            FileProvider = new PhysicalFileProvider(folder),
            ContentTypeProvider = new FileExtensionContentTypeProvider(),
        });
    }

    /// <summary>With '/' at its end.</summary>
    public string Address => _server.Urls.Single() + "/";

    public Task Start() => _server.StartAsync();

    public ValueTask DisposeAsync() => _server.DisposeAsync();
}
