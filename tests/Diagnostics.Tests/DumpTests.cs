using System.Net.Sockets;
using System.Runtime.InteropServices;
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
        // Only what was asked for: a report at the end.
        Assert.Matches(value == "report" ? "^Freehold: leaks: .* objects" : @"\A\z", program.Error);
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

    /// <summary>It has the connection, too, and ends when the program does.</summary>
    [Fact]
    public async Task AChildThatTheProgramForksMeanwhileHoldsNobodyUp()
    {
        using var program = new RunningProgram();
        program.Order("graph 200000");
        using Socket client = program.Connect();
        client.Send(Frame.Request(Command.Dump).ToBytes());
        byte[] some = new byte[1 << 16];
        using var stream = new MemoryStream();
        stream.Write(some, 0, client.Receive(some));
        // The dump's child waits for this client.
        program.Order("fork");
        for (int got; (got = client.Receive(some)) != 0;)
            stream.Write(some, 0, got);
        stream.Position = Frame.Size;
        Assert.True(DumpReader.Read(stream, "the dump").Count > 400_000);
        Assert.Equal(0, program.Quit());
    }

    /// <summary>Where memory is short, it is the copy that the kernel ends; and no file with all contents is left of it.</summary>
    [Fact]
    public async Task TheChildIsWhatTheKernelEndsFirst()
    {
        using var program = new RunningProgram();
        program.Order("graph 200000");
        using Socket client = program.Connect();
        client.Send(Frame.Request(Command.Dump).ToBytes());
        Assert.True(client.Receive(new byte[1_000]) > 0);
        string[] children = [.. ChildrenOf(program.Id)];
        if (children.Length == 0)
            return;  // the kernel does not say
        string child = Assert.Single(children);
        Assert.Equal("1000", File.ReadAllText($"/proc/{child}/oom_score_adj").Trim());
        Assert.Contains(File.ReadLines($"/proc/{child}/limits"), line => line.StartsWith("Max core file size", StringComparison.Ordinal) && line.Split(' ', StringSplitOptions.RemoveEmptyEntries)[4] == "0");
        // Ended in the middle, it is told of, and the program goes on.
        Assert.Equal(0, Kill(int.Parse(child), 9));
        byte[] some = new byte[1 << 16];
        while (client.Receive(some) != 0)
        {
        }
        Assert.True((await DumpAsync(program)).Count > 400_000);
    }

    /// <summary>As daemons do. What the process opens then has the numbers of the standard streams.</summary>
    [Fact]
    public async Task AProgramWithoutStandardStreamsIsDumped()
    {
        DirectoryInfo folder = Directory.CreateTempSubdirectory("freehold-");
        var start = new System.Diagnostics.ProcessStartInfo("/bin/sh", ["-c", "exec \"$0\" stay 0<&- 1>&- 2>&-", Published.Plain.Path]);
        foreach (string name in start.Environment.Keys.Where(name => name.StartsWith("FREEHOLD_", StringComparison.Ordinal) || name == "XDG_RUNTIME_DIR").ToList())
            start.Environment.Remove(name);
        start.Environment["TMPDIR"] = folder.FullName;
        start.Environment["FREEHOLD_DIAGNOSTICS"] = "1";
        using var process = System.Diagnostics.Process.Start(start)!;
        try
        {
            for (int i = 0; i < 12_000 && Directory.GetFiles(folder.FullName, "*.sock", SearchOption.AllDirectories).Length == 0; i++)
                await Task.Delay(10);
            int descriptors = -1;
            for (int i = 0; i < 3; i++)
            {
                string file = Path.Combine(_folder.FullName, $"{i}.fhdump");
                (int code, _, string error) = await RunningProgram.ToolAsync("dump", process.Id.ToString(), "-o", file);
                Assert.True(code == 0, error);
                Assert.True(DumpReader.Read(file).Count > 100);
                // The next answer is behind what the process does for this one.
                Assert.Equal(0, (await RunningProgram.ToolAsync("stat", process.Id.ToString(), "--once", "--json")).Code);
                if (i == 1)
                    descriptors = Directory.GetFiles($"/proc/{process.Id}/fd").Length;
            }
            // The last connection may not be closed yet.
            Assert.InRange(Directory.GetFiles($"/proc/{process.Id}/fd").Length, descriptors - 1, descriptors + 1);
        }
        finally
        {
            process.Kill();
            process.WaitForExit();
            folder.Delete(recursive: true);
        }
    }

    /// <summary>After a fork that one meshes nothing of what it has until then: who asks says that it may be so.</summary>
    [Fact]
    public async Task AProgramWithTheMeshingMallocIsDumpedIfSaidSo()
    {
        using var program = new RunningProgram(program: Published.WithMesh);
        program.Order("graph 1000");
        string file = Path.Combine(_folder.FullName, "a.fhdump");
        (int code, _, string error) = await RunningProgram.ToolAsync("dump", program.Id.ToString(), "-o", file);
        Assert.Equal(3, code);
        Assert.Contains("--anyway", error);
        Assert.Empty(Directory.GetFiles(_folder.FullName));
        (code, _, error) = await RunningProgram.ToolAsync("dump", program.Id.ToString(), "-o", file, "--anyway");
        Assert.True(code == 0, error);
        HeapGraph graph = DumpReader.Read(file);
        Assert.Equal(1000, graph.ReferencesOf(graph.ReferencesOf(Single(graph, "Tree"))[0]).Length);
        Assert.Equal(0, (await program.AskAsync("verify")).GetProperty("violations").GetInt64());
        Assert.Equal(0, program.Quit());
        Assert.Equal("", program.Error);
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
        Assert.Contains("cut off", (await Assert.ThrowsAsync<Tool.ToolException>(() =>
            NewFile.WriteAsync(file, stream => DiagnosticClient.DumpAsync(path, Environment.ProcessId, Command.Dump, stream, TimeSpan.FromMinutes(5), CancellationToken.None)))).Message);
        await serving;
        Assert.Equal([path], Directory.GetFiles(_folder.FullName));
    }

    [DllImport("libc", EntryPoint = "kill")]
    private static extern int Kill(int process, int signal);

    private static int Single(HeapGraph graph, string type) =>
        Assert.Single(Enumerable.Range(0, graph.Count), node => graph.States[node] == ObjectState.Live && graph.TypeOf(node) == Program + type);

    // Of all its threads, where the kernel says it.
    private static IEnumerable<string> ChildrenOf(int process) =>
        Directory.GetDirectories($"/proc/{process}/task").SelectMany(thread => ReadOrNothing(Path.Combine(thread, "children")).Split(' ', StringSplitOptions.RemoveEmptyEntries));

    // A thread may end meanwhile.
    private static string ReadOrNothing(string file)
    {
        try
        {
            return File.ReadAllText(file);
        }
        catch (IOException)
        {
            return "";
        }
    }

    private async Task<HeapGraph> DumpAsync(RunningProgram program)
    {
        string file = Path.Combine(_folder.FullName, Guid.NewGuid().ToString("N"));
        (int code, string output, string error) = await RunningProgram.ToolAsync("dump", program.Id.ToString(), "-o", file);
        Assert.True(code == 0, error + output + program.Error);
        return DumpReader.Read(file);
    }
}
