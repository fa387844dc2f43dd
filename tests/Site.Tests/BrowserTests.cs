namespace Freehold.Site.Tests;

/// <summary>
/// Pages as a browser shows them, on a desktop and on a telephone: they have their heading, are not blank, and nothing sticks out at the side. The pictures stay in
/// artifacts/logs/site for people.
/// </summary>
[Collection(SiteCollection.Name)]
public sealed class BrowserTests(BuiltSite site, BrowserTests.Window window) : IClassFixture<BrowserTests.Window>, IAsyncLifetime
{
    private SiteServer _server = null!;

    public static TheoryData<string, string, int> Pages()
    {
        var data = new TheoryData<string, string, int>();
        foreach (var width in new[] { 1280, 390 })
        {
            data.Add("index.html", "Freehold", width);
            data.Add("docs/README.html", "Documentation", width);
            data.Add("docs/tutorial.html", "Tutorial", width);
            data.Add("docs/settings.html", "Settings", width);
            data.Add("docs/internals/meshing.html", "The meshing malloc", width);
            data.Add("api/index.html", "API", width);
            data.Add("api/System.Heap.html", "Class Heap", width);
            data.Add("api/Freehold.Collections.TreeList-1.html", "Class TreeList<T>", width);
            data.Add("report.html", BuiltSite.ReportHeading, width);
            data.Add("samples/Tutorial/Program.cs.html", "samples/Tutorial/Program.cs", width);
        }

        return data;
    }

    public async Task InitializeAsync()
    {
        _server = new SiteServer(site.Folder);
        await _server.Start();
    }

    public async Task DisposeAsync() => await _server.DisposeAsync();

    [Theory]
    [MemberData(nameof(Pages))]
    public async Task APageIsShownWhole(string page, string heading, int width)
    {
        await Open(page, width);
        Assert.Equal(heading, await window.Browser.Evaluate<string>("document.querySelector('article h1').innerText.trim()"));
        await Look($"{page.Replace('/', '-')[..^5]}-{width}", width);
    }

    [Theory]
    [InlineData(1280)]
    [InlineData(390)]
    public async Task ASearchFindsThePage(int width)
    {
        await Open("docs/README.html", width);
        await window.Browser.Evaluate<object>("(() => { const box = document.querySelector('#search-query'); box.value = 'userfaultfd'; box.dispatchEvent(new Event('input', { bubbles: true })); return null; })()");
        await window.Browser.WaitFor("document.querySelectorAll('#search-results .sr-item').length > 0");
        Assert.Contains("Address space", await window.Browser.Evaluate<string>("document.querySelector('#search-results').innerText"), StringComparison.Ordinal);
        await Look($"search-{width}", width);
    }

    [Fact]
    public async Task ThePicturesOfTheReportAreShown()
    {
        await Open("report.html", 1280);
        Assert.Equal("700", await window.Browser.Evaluate<string>("Array.from(document.querySelectorAll('article img')).map(picture => picture.naturalWidth).join()"));
    }

    [Fact]
    public async Task TheContentsMarkThePage()
    {
        await Open("docs/internals/reclaim.html", 1280);
        await window.Browser.WaitFor("document.querySelector('#toc li.active a[href$=\"reclaim.html\"]')");
    }

    /// <summary>Waits for the navigation, and for the index of the search: a page that is left while it loads something complains.</summary>
    private async Task Open(string page, int width)
    {
        await window.Browser.Open(_server.Address + page, width);
        await window.Browser.WaitFor("document.querySelector('#navbar a') && !document.querySelector('#search-query').disabled && (!document.querySelector('#toc') || document.querySelector('#toc li'))");
    }

    /// <summary>Whether the page that is open is as wide as the window, not blank, without complaints, and asked no other machine for anything. The picture stays.</summary>
    private async Task Look(string name, int width)
    {
        Assert.True(await window.Browser.Evaluate<int>("document.documentElement.scrollWidth") <= width, "wider than the window: " + await window.Browser.Evaluate<string>(
            $"Array.from(document.querySelectorAll('body *')).filter(part => part.getBoundingClientRect().right > {width} && !part.closest('pre, table')).slice(0, 5).map(part => part.outerHTML.slice(0, 200)).join('\\n')"));
        // A class that the style of DocFX knows too can break a table apart.
        Assert.True(await window.Browser.Evaluate<bool>("Array.from(document.querySelectorAll('article td')).every(cell => getComputedStyle(cell).display === 'table-cell')"), "a cell that is none");
        var picture = await window.Browser.Picture();
        File.WriteAllBytes(Path.Combine(Window.Pictures, name + ".png"), picture);
        var (share, colours) = await Ink(picture);
        Assert.True(share > 0.01 && colours > 16, $"{name}: {share:P1} of the picture is not background, {colours} colours");
        Assert.True(!window.Browser.Complaints.Any(), string.Join("\n", window.Browser.Complaints));
        Assert.DoesNotContain(window.Browser.Requests, request => request.StartsWith("http", StringComparison.Ordinal) && !request.StartsWith("http://127.0.0.1:", StringComparison.Ordinal));
    }

    /// <summary>How much of a picture is not of its most frequent colour, and how many colours it has; the browser reads the PNG.</summary>
    private async Task<(double Share, int Colours)> Ink(byte[] picture)
    {
        var result = await window.Browser.Evaluate<double[]>($$"""
            (async () => {
                const bitmap = await createImageBitmap(new Blob([Uint8Array.from(atob('{{Convert.ToBase64String(picture)}}'), c => c.charCodeAt(0))], { type: 'image/png' }));
                const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext('2d');
                context.drawImage(bitmap, 0, 0);
                const counts = new Map();
                for (const pixel of new Uint32Array(context.getImageData(0, 0, bitmap.width, bitmap.height).data.buffer)) counts.set(pixel, (counts.get(pixel) ?? 0) + 1);
                return [1 - Math.max(...counts.values()) / (bitmap.width * bitmap.height), counts.size];
            })()
            """);
        return (result[0], (int)result[1]);
    }

    /// <summary>The browser of all tests of the class.</summary>
    public sealed class Window : IDisposable
    {
        public Window()
        {
            var (exitCode, output) = Repository.Run("eng/prerequisites.sh", "chromium", "fonts-dejavu-core");
            Assert.True(exitCode == 0, output);
            Directory.CreateDirectory(Pictures);
            Browser = new Chromium();
        }

        internal Chromium Browser { get; }

        internal static string Pictures { get; } = Path.Combine(Repository.Root, "artifacts", "logs", "site");

        public void Dispose() => Browser.Dispose();
    }
}
