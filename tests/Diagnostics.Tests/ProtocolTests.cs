using System.Net.Sockets;
using System.Text;
using System.Text.Json;
using Freehold.Tool;
using Freehold.Tool.Protocol;
using Freehold.Tool.Views;

namespace Freehold.Diagnostics.Tests;

/// <summary>The tool's half of the protocol, with a process that says what a test wants.</summary>
public sealed class ProtocolTests : IDisposable
{
    private static readonly TimeSpan s_limit = TimeSpan.FromMinutes(5);

    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("freehold-");

    public void Dispose() => _folder.Delete(recursive: true);

    [Fact]
    public void AFrameHasSixteenBytes()
    {
        byte[] bytes = Frame.Request(Command.Leaks).ToBytes();
        Assert.Equal("46484447010002000000000000000000", Convert.ToHexString(bytes));
        Assert.Equal(new Frame(1, 2, 0), Frame.Parse(bytes));
        bytes[8] = 0x39;
        bytes[9] = 0x05;
        Assert.Equal(1337UL, Frame.Parse(bytes).Length);
    }

    [Theory]
    [InlineData("", "something else")]
    [InlineData("FHDG", "something else")]
    [InlineData("HTTP/1.1 400 Bad Request", "something else")]
    [InlineData("FHDG\u0007\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0000", "version 7")]
    public void WhatIsNoFrameIsToldOf(string bytes, string words) =>
        Assert.Contains(words, Assert.Throws<ToolException>(() => Frame.Parse(Encoding.Latin1.GetBytes(bytes))).Message);

    [Fact]
    public async Task AnAnswerIsJson()
    {
        JsonDocument answer = await AskAsync(Answer(0, """{"process":7}"""));
        Assert.Equal(7, answer.RootElement.GetProperty("process").GetInt32());
    }

    [Theory]
    [InlineData(5, "Only the user", "Only the user")]
    [InlineData(4, "no memory", "no memory")]
    [InlineData(0, "{", "cannot be read")]
    [InlineData(0, "", "cannot be read")]
    public async Task ARefusalIsToldOf(int status, string text, string words) =>
        Assert.Contains(words, (await Assert.ThrowsAsync<ToolException>(() => AskAsync(Answer((ushort)status, text)))).Message);

    [Fact]
    public async Task AnAnswerThatEndsEarlyIsToldOf()
    {
        byte[] whole = Answer(0, """{"process":7}""");
        foreach (int length in new[] { 0, 5, 16, whole.Length - 1 })
            Assert.Contains("before its answer was complete", (await Assert.ThrowsAsync<ToolException>(() => AskAsync(whole[..length]))).Message);
    }

    [Fact]
    public async Task AnAnswerBeyondAllMemoryIsNotWaitedFor() =>
        Assert.Contains("cannot be", (await Assert.ThrowsAsync<ToolException>(() => AskAsync(new Frame(1, 0, ulong.MaxValue).ToBytes()))).Message);

    [Fact]
    public async Task WhoDoesNotAnswerIsNotWaitedForForEver()
    {
        string path = Path.Combine(_folder.FullName, "silent.sock");
        using Socket listener = Listen(path);
        ToolException failure = await Assert.ThrowsAsync<ToolException>(() => DiagnosticClient.AskAsync(path, Environment.ProcessId, Command.Stat, TimeSpan.FromMilliseconds(200), CancellationToken.None));
        Assert.Contains("--timeout", failure.Message);
    }

    [Fact]
    public async Task ASocketThatIsNotThereIsToldOf()
    {
        foreach (string path in new[] { Path.Combine(_folder.FullName, "none.sock"), "/" + new string('x', 200) })
            Assert.Contains(path, (await Assert.ThrowsAsync<ToolException>(() => DiagnosticClient.AskAsync(path, Environment.ProcessId, Command.Stat, s_limit, CancellationToken.None))).Message);
    }

    [Fact]
    public async Task WhoIsNotTheProcessIsNotAsked()
    {
        string path = Path.Combine(_folder.FullName, "other.sock");
        using Socket listener = Listen(path);
        ToolException failure = await Assert.ThrowsAsync<ToolException>(() => DiagnosticClient.AskAsync(path, 1, Command.Stat, s_limit, CancellationToken.None));
        Assert.Contains($"process {Environment.ProcessId} listens", failure.Message);
        using Socket client = await listener.AcceptAsync();
        Assert.Equal(0, await client.ReceiveAsync(new byte[Frame.Size]));
    }

    [Fact]
    public async Task AFullQueueIsWaitedFor()
    {
        string path = Path.Combine(_folder.FullName, "full.sock");
        using Socket listener = Listen(path, backlog: 0);
        using var before = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        before.Connect(new UnixDomainSocketEndPoint(path));
        Task<JsonDocument> asking = DiagnosticClient.AskAsync(path, Environment.ProcessId, Command.Stat, s_limit, CancellationToken.None);
        // As the queue is full, it cannot have been refused otherwise than by now.
        await Task.Delay(200);
        Assert.False(asking.IsCompleted);
        using Socket first = await listener.AcceptAsync();
        using Socket second = await listener.AcceptAsync();
        await second.SendAsync(Answer(0, """{"process":7}"""));
        Assert.Equal(7, (await asking).RootElement.GetProperty("process").GetInt32());
    }

    /// <summary>A title, a link, a clipboard, a line that hides the one before, text from right to left: nothing of it reaches the terminal.</summary>
    [Theory]
    [InlineData("\u001b]0;title\u0007", @"\u001b]0;title\u0007")]
    [InlineData("a\rb\u009b2Jc\u007f", @"a\u000db\u009b2Jc\u007f")]
    [InlineData("\u202egnp.exe\u2066\u2028", @"\u202egnp.exe\u2066\u2028")]
    [InlineData("\U000e0041\U0001d173", @"\udb40\udc41\ud834\udd73")]
    [InlineData("List`1[Größe]\n  at \U0001f600", "List`1[Größe]\n  at \U0001f600")]
    public void HiddenCharactersAreShown(string text, string shown) => Assert.Equal(shown, PlainText.Of(text));

    // An attribute has no room for half of a pair.
    [Fact]
    public void HalvesOfPairsAreShown() => Assert.Equal(@"a\ud800\udc00b", PlainText.Of("a" + (char)0xd800 + @"\udc00b"));

    [Fact]
    public void WhatAProcessSaysIsPrintedAsText()
    {
        const string Hostile = "\\u001b[2J\\u009bX\\u202e";
        JsonElement leaks = JsonDocument.Parse($$"""{"count":1,"bytes":24,"reports":true,"leaks":[{"type":"{{Hostile}}","count":1,"bytes":24,"sites":[{"count":1,"bytes":24,"samples":0,"stack":"{{Hostile}}"}]}]}""").RootElement;
        StringWriter output = new();
        LeaksView.Write(leaks, 10, output);
        var stat = new StatView(7, all: true);
        stat.Take(Figure.ReadAll(JsonDocument.Parse($$"""{"figures":[{"name":"{{Hostile}}","unit":"bytes","total":true,"value":1},{"name":"{{Hostile}}","unit":"bytes","total":true,"value":1}]}""").RootElement), PlainText.Of("\u001b[2J"), 1);
        stat.Take([], "", 2);
        Tool.Program.On(output).Write(stat.Render());
        Assert.DoesNotContain(output.ToString(), character => character is '\u001b' or '\u009b' or '\u202e');
        Assert.Contains(@"\u001b[2J", output.ToString());
        string json = JsonSerializer.Serialize(leaks);
        Assert.DoesNotContain(json, character => character is '\u001b' or '\u009b' or '\u202e');
    }

    [Theory]
    [InlineData("""{"count":"many"}""")]
    [InlineData("""{"count":1e400}""")]
    [InlineData("""{"count":true}""")]
    [InlineData("[]")]
    [InlineData("7")]
    public void AnOddNumberIsToldOf(string answer) => Assert.Contains("'count'", Assert.Throws<ToolException>(() => Tool.Views.Answer.Number(JsonDocument.Parse(answer).RootElement, "count")).Message);

    [Theory]
    [InlineData("""{"type":"\ud800"}""")]
    [InlineData("""{"type":7}""")]
    [InlineData("{}")]
    public void AnOddTextIsToldOf(string answer) => Assert.Contains("'type'", Assert.Throws<ToolException>(() => Tool.Views.Answer.Text(JsonDocument.Parse(answer).RootElement, "type")).Message);

    [Fact]
    public void TheSocketIsFoundByItsInode()
    {
        Process(7, descriptors: ["socket:[11]", "/dev/null", "socket:[12]", "socket:[13]", "pipe:[14]"], sockets:
        [
            "0000000000000000: 00000002 00000000 00010000 0001 01 10 /tmp/freehold-0/8-b.sock",   // another process's
            "0000000000000000: 00000003 00000000 00000000 0001 03 11 /tmp/freehold-0/7-a.sock",   // a connection
            "0000000000000000: 00000002 00000000 00010000 0001 01 12 /tmp/other/7-a.sock",        // another socket of the program
            "0000000000000000: 00000002 00000000 00000000 0002 01 15",
            "0000000000000000: 00000002 00000000 00010000 0001 01 13 /tmp/a b/freehold-0/7-a.sock",
        ]);
        Assert.Equal("/tmp/a b/freehold-0/7-a.sock", SocketFinder.Find(7, _folder.FullName));
    }

    [Fact]
    public void InAnotherContainerItIsSeenThroughItsRoot()
    {
        Process(7, ["socket:[13]"], ["0000000000000000: 00000002 00000000 00010000 0001 01 13 /run/user/1000/freehold/1-a.sock"]);
        MountNamespace("7", "mnt:[1]");
        MountNamespace("self", "mnt:[1]");
        Assert.Equal("/run/user/1000/freehold/1-a.sock", SocketFinder.Find(7, _folder.FullName));
        MountNamespace("self", "mnt:[2]");
        Assert.Equal(Path.Combine(_folder.FullName, "7/root/run/user/1000/freehold/1-a.sock"), SocketFinder.Find(7, _folder.FullName));
    }

    [Fact]
    public void WhereThereIsNoneTheToolSaysWhatToDo()
    {
        Assert.Contains("no process 9", Assert.Throws<ToolException>(() => SocketFinder.Find(9, _folder.FullName)).Message);
        Process(7, ["socket:[13]"], ["broken", "", "0: 2 0 zzz 1 1 13 /tmp/freehold-0/7.sock"]);
        Assert.Contains("FREEHOLD_DIAGNOSTICS=1", Assert.Throws<ToolException>(() => SocketFinder.Find(7, _folder.FullName)).Message);
    }

    [Theory]
    [InlineData("stat")]
    [InlineData("stat", "0")]
    [InlineData("stat", "-5")]
    [InlineData("stat", "1", "--interval", "0")]
    [InlineData("stat", "1", "--interval", "NaN")]
    [InlineData("leaks", "1", "--timeout", "0")]
    [InlineData("verify", "x")]
    [InlineData("heal", "1")]
    [InlineData("stat", "1", "--none")]
    public async Task WrongUsageIsToldOf(params string[] arguments)
    {
        StringWriter error = new();
        Assert.Equal(2, await Tool.Program.Run(arguments, TextWriter.Null, error, new FakeMachine()));
        Assert.NotEqual("", error.ToString());
    }

    [Fact]
    public void RatesAreThoseOfASecond()
    {
        var view = new StatView(7, all: true);
        view.Take([new Figure("AllocatedBytes", "bytes", true, 1_000), new Figure("LiveBytes", "bytes", false, 5_000), new Figure("ReclaimTime", "nanoseconds", true, 0)], "", System.Diagnostics.Stopwatch.Frequency);
        view.Take([new Figure("AllocatedBytes", "bytes", true, 7_000), new Figure("LiveBytes", "bytes", false, 6_000), new Figure("ReclaimTime", "nanoseconds", true, 4_000_000)], "a thread at Main()", 3 * System.Diagnostics.Stopwatch.Frequency);
        StringWriter output = new();
        Tool.Program.On(output).Write(view.Render());
        string[] lines = output.ToString().Split('\n');
        Assert.Contains("3000 B", Assert.Single(lines, line => line.Contains("AllocatedBytes")));
        Assert.Contains("2000.0 us", Assert.Single(lines, line => line.Contains("ReclaimTime")));
        Assert.DoesNotContain("500 B", Assert.Single(lines, line => line.Contains("LiveBytes")));
        Assert.Contains("a thread at Main()", string.Join(' ', output.ToString().Split((char[]?)null, StringSplitOptions.RemoveEmptyEntries)));
    }

    private static byte[] Answer(ushort status, string text)
    {
        byte[] bytes = Encoding.UTF8.GetBytes(text);
        return [.. new Frame(1, status, (ulong)bytes.Length).ToBytes(), .. bytes];
    }

    private async Task<JsonDocument> AskAsync(byte[] answer)
    {
        string path = Path.Combine(_folder.FullName, $"{Guid.NewGuid():N}.sock");
        using Socket listener = Listen(path);
        Task serving = Task.Run(async () =>
        {
            using Socket client = await listener.AcceptAsync();
            byte[] request = new byte[Frame.Size];
            Assert.Equal(Frame.Size, await client.ReceiveAsync(request));
            Assert.Equal(Frame.Request(Command.Stat), Frame.Parse(request));
            await client.SendAsync(answer);
        });
        try
        {
            return await DiagnosticClient.AskAsync(path, Environment.ProcessId, Command.Stat, s_limit, CancellationToken.None);
        }
        finally
        {
            await serving;
        }
    }

    private static Socket Listen(string path, int backlog = 100)
    {
        var listener = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        listener.Bind(new UnixDomainSocketEndPoint(path));
        listener.Listen(backlog);
        return listener;
    }

    private void Process(int number, string[] descriptors, string[] sockets)
    {
        string folder = Path.Combine(_folder.FullName, $"{number}");
        Directory.CreateDirectory(Path.Combine(folder, "fd"));
        Directory.CreateDirectory(Path.Combine(folder, "net"));
        for (int i = 0; i < descriptors.Length; i++)
            File.CreateSymbolicLink(Path.Combine(folder, "fd", $"{i}"), descriptors[i]);
        File.WriteAllLines(Path.Combine(folder, "net", "unix"), ["Num       RefCount Protocol Flags    Type St Inode Path", .. sockets]);
    }

    private void MountNamespace(string process, string name)
    {
        string folder = Path.Combine(_folder.FullName, process, "ns");
        Directory.CreateDirectory(folder);
        File.Delete(Path.Combine(folder, "mnt"));
        File.CreateSymbolicLink(Path.Combine(folder, "mnt"), name);
    }
}
