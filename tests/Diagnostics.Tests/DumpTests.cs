using System.Net.Sockets;
using Freehold.Tool.Dumps;
using Freehold.Tool.Protocol;

namespace Freehold.Diagnostics.Tests;

/// <summary>`freehold dump` of a running program.</summary>
public sealed class DumpTests : IDisposable
{
    private const string Program = "Freehold.Diagnostics.Served+";

    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("freehold-");

    public void Dispose() => _folder.Delete(recursive: true);

    [Theory]
    [InlineData(null, "")]
    [InlineData("FREEHOLD_STRESS", "promote:3000")]
    [InlineData("FREEHOLD_PROTECTION", "mprotect")]
    [InlineData("FREEHOLD_DEBUG", "1")]
    [InlineData("FREEHOLD_RECLAIM", "report")]
    public async Task AKnownGraphIsInIt(string? variable, string value)
    {
        using var program = new RunningProgram(variable, value);
        program.Order("graph 1000");
        program.Order("forget 100");
        HeapGraph graph = await DumpAsync(program);
        Assert.Equal(program.Id, graph.Process.Id);
        int tree = Single(graph, "Tree"), branches = Single(graph, "Branch[]");
        Assert.Contains(branches, graph.ReferencesOf(tree).ToArray());
        int[] all = [.. graph.ReferencesOf(branches).ToArray()];
        Assert.Equal(1000, all.Length);
        Assert.All(all, node => Assert.Equal(Program + "Branch", graph.TypeOf(node)));
        int[] payloads = [.. all.Select(node => graph.ReferencesOf(node).ToArray().SingleOrDefault(target => target == HeapGraph.Gone || graph.TypeOf(target) == "System.Byte[]", -2))];
        Assert.Equal(100, payloads.Count(payload => payload == HeapGraph.Gone || graph.States[payload] == ObjectState.Deleted));
        Assert.Equal(900, payloads.Count(payload => payload >= 0 && graph.States[payload] == ObjectState.Live && graph.Sizes[payload] is >= 100 and <= 136));
        // The tree owns what no other has.
        var dominators = Dominators.Find(graph);
        Assert.True(dominators.IsReached(tree));
        Assert.Equal(tree, dominators.Of[branches]);
        Assert.All(all, node => Assert.Equal(branches, dominators.Of[node]));
        Assert.Equal(branches, dominators.Of[Single(graph, "Shared")]);
        Assert.InRange(dominators.Retained[tree], 1000 * (32 + 8) + 900 * 120, 1000 * (32 + 8) + 1000 * 200);
        Assert.Equal(tree, RootPath.To(graph, node => node == branches)[^2]);
        Assert.NotEmpty(graph.Roots);
        // It goes on, and is whole.
        Assert.Equal(0, (await program.AskAsync("verify")).GetProperty("violations").GetInt64());
        Assert.Equal(0, program.Quit());
        Assert.Equal("", program.Error);
    }

    [Fact]
    public async Task LostObjectsAreUnreachable()
    {
        using var program = new RunningProgram("FREEHOLD_RECLAIM", "report");
        program.Order("leak 5000");
        var analysis = new HeapAnalysis(await DumpAsync(program));
        TypeSum lost = analysis.Unreachable.Single(sum => sum.Type == Program + "Lost");
        Assert.InRange(lost.Count, 4_900, 5_000);
        Assert.InRange(analysis.Unreachable.Single(sum => sum.Type == "System.Int64[]").Count, 4_900, 5_100);
    }

    [Fact]
    public async Task AMillionObjectsAreDumped()
    {
        using var program = new RunningProgram();
        program.Order("graph 500000");
        HeapGraph graph = await DumpAsync(program);
        Assert.True(graph.Count > 1_000_000);
        Assert.Equal(500_000, graph.Types.Count(type => graph.TypeNames[type] == Program + "Branch"));
        var dominators = Dominators.Find(graph);
        Assert.True(dominators.Retained[Single(graph, "Tree")] > 500_000L * (32 + 120));
    }

    /// <summary>One moment, whatever the program does: each branch that a reference leads to is whole.</summary>
    [Theory]
    [InlineData(null, "")]
    [InlineData("FREEHOLD_STRESS", "promote:3000,reclaim:3000")]
    [InlineData("FREEHOLD_PROTECTION", "mprotect")]
    public async Task AProgramThatChangesIsDumpedAtOneMoment(string? variable, string value)
    {
        using var program = new RunningProgram(variable, value);
        program.Order("graph 1000");
        program.Order("change");
        for (int i = 0; i < 5; i++)
        {
            HeapGraph graph = await DumpAsync(program);
            int tree = Single(graph, "Tree");
            Assert.Equal(1000, graph.ReferencesOf(graph.ReferencesOf(tree)[0]).Length);
            int branch = Array.IndexOf(graph.TypeNames, Program + "Branch"), shared = Array.IndexOf(graph.TypeNames, Program + "Shared");
            for (int node = 0; node < graph.Count; node++)
            {
                if (graph.Types[node] != branch || graph.States[node] != ObjectState.Live)
                    continue;
                // It may be new, and have none or one yet, and its payload is deleted before it.
                int[] fields = graph.ReferencesOf(node).ToArray();
                Assert.InRange(fields.Length, 0, 2);
                Assert.All(fields, field => Assert.True(field == HeapGraph.Gone || graph.Types[field] == shared || graph.TypeOf(field) == "System.Byte[]"));
            }
        }
        Assert.Equal(0, (await program.AskAsync("verify")).GetProperty("violations").GetInt64());
    }

    [Fact]
    public async Task TheFileIsForTheUserOnlyAndIsNotOverwritten()
    {
        using var program = new RunningProgram();
        string file = Path.Combine(_folder.FullName, "a.fhdump");
        (int code, string output, string error) = await RunningProgram.ToolAsync("dump", program.Id.ToString(), "--output", file);
        Assert.True(code == 0, error);
        Assert.Contains(file, output);
        Assert.Equal(UnixFileMode.UserRead | UnixFileMode.UserWrite, File.GetUnixFileMode(file));
        Assert.Equal(0, (await RunningProgram.ToolAsync("analyze", file)).Code);
        byte[] before = File.ReadAllBytes(file);
        (code, _, error) = await RunningProgram.ToolAsync("dump", program.Id.ToString(), "-o", file);
        Assert.Equal(3, code);
        Assert.Contains("already", error);
        Assert.Equal(before, File.ReadAllBytes(file));
        Assert.Equal([file], Directory.GetFiles(_folder.FullName));
    }

    /// <summary>A client that goes away, or reads nothing for a while: the child ends, the program serves on.</summary>
    [Fact]
    public async Task WhoGoesAwayInTheMiddleHarmsNobody()
    {
        using var program = new RunningProgram();
        program.Order("graph 200000");
        for (int i = 0; i < 3; i++)
        {
            using Socket client = program.Connect();
            client.Send(Frame.Request(Command.Dump).ToBytes());
            Assert.True(client.Receive(new byte[1_000]) > 0);
        }
        Assert.True(await program.FigureAsync("Stops") > 0);
        Assert.True((await DumpAsync(program)).Count > 400_000);
        Assert.Empty(ChildrenOf(program.Id));
    }

    [Fact]
    public async Task ADumpThatIsCutOffLeavesNoFile()
    {
        string path = Path.Combine(_folder.FullName, "false.sock"), file = Path.Combine(_folder.FullName, "a.fhdump");
        using var listener = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        listener.Bind(new UnixDomainSocketEndPoint(path));
        listener.Listen();
        byte[] whole = new DumpMaker().Object(0x1000, "A", 24).ToBytes();
        Task serving = Task.Run(async () =>
        {
            using Socket client = await listener.AcceptAsync();
            await client.ReceiveAsync(new byte[Frame.Size]);
            await client.SendAsync(new Frame(1, 0, Frame.Streamed).ToBytes());
            await client.SendAsync(whole.AsMemory(0, whole.Length - 3));
        });
        using var stream = new MemoryStream();
        Assert.Contains("cut off", (await Assert.ThrowsAsync<Tool.ToolException>(() =>
            DiagnosticClient.DumpAsync(path, Environment.ProcessId, stream, TimeSpan.FromMinutes(5), CancellationToken.None))).Message);
        await serving;
        Assert.False(File.Exists(file));
    }

    private static int Single(HeapGraph graph, string type) =>
        Assert.Single(Enumerable.Range(0, graph.Count), node => graph.States[node] == ObjectState.Live && graph.TypeOf(node) == Program + type);

    // Of all its threads, where the kernel says it.
    private static IEnumerable<string> ChildrenOf(int process) =>
        Directory.GetDirectories($"/proc/{process}/task").Select(thread => Path.Combine(thread, "children")).Where(File.Exists).SelectMany(file => File.ReadAllText(file).Split(' ', StringSplitOptions.RemoveEmptyEntries));

    private async Task<HeapGraph> DumpAsync(RunningProgram program)
    {
        string file = Path.Combine(_folder.FullName, Guid.NewGuid().ToString("N"));
        (int code, string output, string error) = await RunningProgram.ToolAsync("dump", program.Id.ToString(), "-o", file);
        Assert.True(code == 0, error + output + program.Error);
        return DumpReader.Read(file);
    }
}
