using System.Collections.Concurrent;
using System.Diagnostics;
using System.Net.WebSockets;
using System.Text.Json;
using System.Text.Json.Nodes;

namespace Freehold.Site.Tests;

/// <summary>
/// Debian's Chromium without a window, spoken to by its DevTools protocol. One thread at a time. Its own processes end with <see cref="Dispose"/>.
/// </summary>
internal sealed class Chromium : IDisposable
{
    private const string Listening = "DevTools listening on ";

    private readonly Process _process;
    private readonly string _profile = Directory.CreateTempSubdirectory("freehold-chromium-").FullName;
    private readonly ClientWebSocket _socket = new();
    private readonly ConcurrentDictionary<int, TaskCompletionSource<JsonNode>> _answers = new();
    private readonly ConcurrentQueue<(string Method, JsonNode Parameters)> _events = new();
    private volatile Exception? _end;
    private string? _session;
    private int _last;

    /// <exception cref="InvalidOperationException">It did not start; the message has what it said.</exception>
    public Chromium()
    {
        // As root there is no sandbox, and the pages are our own. Small machines have a small /dev/shm.
        string[] arguments = ["--headless", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars", "--force-color-profile=srgb", "--lang=en", "--remote-debugging-port=0", $"--user-data-dir={_profile}", "about:blank"];
        _process = Process.Start(new ProcessStartInfo("chromium", arguments) { RedirectStandardError = true, RedirectStandardOutput = true })!;
        _ = _process.StandardOutput.ReadToEndAsync();
        var said = new List<string>();
        while (_process.StandardError.ReadLine() is { } line)
        {
            said.Add(line);
            if (line.StartsWith(Listening, StringComparison.Ordinal))
            {
                _ = _process.StandardError.ReadToEndAsync();
                try
                {
                    _socket.ConnectAsync(new Uri(line[Listening.Length..]), CancellationToken.None).GetAwaiter().GetResult();
                }
                catch
                {
                    Dispose();
                    throw;
                }

                _ = Task.Run(Receive);
                return;
            }
        }

        Dispose();
        throw new InvalidOperationException("chromium did not start:\n" + string.Join('\n', said));
    }

    /// <summary>What pages have complained of since the start: exceptions of scripts, errors in the console, what could not be loaded.</summary>
    public IEnumerable<string> Complaints => _events.Where(e => e.Method is "Runtime.exceptionThrown" or "Network.loadingFailed" || (e.Method == "Log.entryAdded" && (string?)e.Parameters["entry"]!["level"] == "error")).Select(e => e.Parameters.ToJsonString());

    /// <summary>The addresses that pages have asked for since the start.</summary>
    public IEnumerable<string> Requests => _events.Where(e => e.Method == "Network.requestWillBeSent").Select(e => (string)e.Parameters["request"]!["url"]!);

    /// <summary>Opens a page in a window of this width, and waits until it and what it loads are there.</summary>
    public async Task Open(string address, int width, int height = 900)
    {
        if (_session is null)
        {
            var target = await Send("Target.createTarget", new JsonObject { ["url"] = "about:blank" });
            _session = (string)(await Send("Target.attachToTarget", new JsonObject { ["targetId"] = (string)target["targetId"]!, ["flatten"] = true }))["sessionId"]!;
            foreach (var domain in new[] { "Page", "Runtime", "Network", "Log" })
            {
                await Send(domain + ".enable", []);
            }
        }

        await Send("Emulation.setDeviceMetricsOverride", new JsonObject { ["width"] = width, ["height"] = height, ["deviceScaleFactor"] = 1, ["mobile"] = width < 600 });
        // A blank page between: two addresses that differ behind '#' alone are one page.
        await Send("Page.navigate", new JsonObject { ["url"] = "about:blank" });
        await Send("Page.navigate", new JsonObject { ["url"] = address });
        await WaitFor($"location.href === {JsonSerializer.Serialize(address)} && document.readyState === 'complete'");
    }

    /// <summary>The value of an expression in the page; a promise is waited for.</summary>
    /// <exception cref="InvalidOperationException">It threw.</exception>
    public async Task<T> Evaluate<T>(string expression)
    {
        var answer = await Send("Runtime.evaluate", new JsonObject { ["expression"] = expression, ["returnByValue"] = true, ["awaitPromise"] = true });
        return answer["exceptionDetails"] is { } exception
            ? throw new InvalidOperationException($"{expression}: {exception.ToJsonString()}")
            : answer["result"]!["value"].Deserialize<T>()!;
    }

    /// <summary>Waits until an expression is true. A page that never gets there fails the test with what it shows.</summary>
    public async Task WaitFor(string condition)
    {
        // Turns of the page are counted, not time: on a busy machine each takes longer.
        var met = await Evaluate<bool>($"new Promise(done => {{ let left = 3600; const look = () => {{ let met = false; try {{ met = !!({condition}); }} catch {{ }} if (met || --left === 0) done(met); else setTimeout(look, 16); }}; look(); }})");
        Assert.True(met, $"never true: {condition}. The page says: {await Evaluate<string>("document.body.innerText.slice(0, 2000)")}");
    }

    /// <summary>What the window shows, as PNG.</summary>
    public async Task<byte[]> Picture() => Convert.FromBase64String((string)(await Send("Page.captureScreenshot", new JsonObject { ["format"] = "png" }))["data"]!);

    public void Dispose()
    {
        _process.Kill(entireProcessTree: true);
        _process.WaitForExit();
        _process.Dispose();
        _socket.Dispose();
        try
        {
            Directory.Delete(_profile, recursive: true);
        }
        catch (IOException)
        {
            // One of its processes was still writing; eng/test.sh removes what is left.
        }
    }

    private async Task<JsonNode> Send(string method, JsonObject parameters)
    {
        var id = Interlocked.Increment(ref _last);
        var answer = _answers[id] = new TaskCompletionSource<JsonNode>(TaskCreationOptions.RunContinuationsAsynchronously);
        var message = new JsonObject { ["id"] = id, ["method"] = method, ["params"] = parameters };
        if (_session is not null)
        {
            message["sessionId"] = _session;
        }

        await _socket.SendAsync(JsonSerializer.SerializeToUtf8Bytes(message), WebSocketMessageType.Text, endOfMessage: true, CancellationToken.None);
        // Nobody reads any more: what is asked from then on has no answer.
        if (_end is { } end)
        {
            answer.TrySetException(end);
        }

        var answered = await answer.Task;
        return answered["error"] is { } error ? throw new InvalidOperationException($"{method}: {error.ToJsonString()}") : answered["result"]!;
    }

    private async Task Receive()
    {
        var buffer = new byte[1 << 16];
        try
        {
            while (true)
            {
                using var message = new MemoryStream();
                WebSocketReceiveResult part;
                do
                {
                    part = await _socket.ReceiveAsync(buffer, CancellationToken.None);
                    message.Write(buffer, 0, part.Count);
                }
                while (!part.EndOfMessage);
                if (part.MessageType == WebSocketMessageType.Close)
                {
                    throw new WebSocketException("chromium has closed the connection");
                }

                var node = JsonNode.Parse(message.ToArray())!;
                if (node["id"] is { } id && _answers.TryRemove((int)id, out var answer))
                {
                    answer.SetResult(node);
                }
                else if (node["method"] is { } method)
                {
                    _events.Enqueue(((string)method!, node["params"]!));
                }
            }
        }
        catch (Exception e)
        {
            _end = e;
            foreach (var answer in _answers.Values)
            {
                answer.TrySetException(e);
            }
        }
    }
}
