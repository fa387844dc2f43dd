using System.Net.Sockets;
using System.Text.Json;

namespace Freehold.Diagnostics.Tests;

/// <summary>The tool and a running program.</summary>
public sealed class ProcessTests
{
    [Fact]
    public async Task FiguresChangeAsTheProgramDeletes()
    {
        using var program = new RunningProgram();
        long deleted = await program.FigureAsync("DeletedObjects"), allocated = await program.FigureAsync("AllocatedBytes");
        program.Order("delete 5000");
        Assert.True(await program.FigureAsync("DeletedObjects") >= deleted + 5_000);
        Assert.True(await program.FigureAsync("AllocatedBytes") >= allocated + 5_000_000);
        JsonElement answer = await program.AskAsync("stat", "--once");
        Assert.Equal(program.Id, answer.GetProperty("process").GetInt32());
        Assert.Matches(@"^\d+\.\d+\.\d+$", answer.GetProperty("version").GetString());
        Assert.Equal(0, program.Quit());
        Assert.Equal("", program.Error);
    }

    [Fact]
    public async Task TheTableHasTheFigures()
    {
        using var program = new RunningProgram();
        (int code, string output, string error) = await RunningProgram.ToolAsync("stat", program.Id.ToString());
        Assert.True(code == 0, error);
        foreach (string figure in new[] { "AllocatedBytes", "LiveBytes", "ResidentBytes", "Stops" })
            Assert.Contains(figure, output);
        Assert.DoesNotContain("Handles.", output);
        (_, string all, _) = await RunningProgram.ToolAsync("stat", program.Id.ToString(), "--all", "--once");
        Assert.Contains("Handles.LiveObjects", all);
        Assert.Contains("CompactionRounds", all);
    }

    [Fact]
    public async Task AStreamOfJsonIsALineForEachLook()
    {
        using var program = new RunningProgram();
        using var output = new LinesUntil(3);
        Task<int> tool = Task.Run(() => Tool.Program.Run(["stat", program.Id.ToString(), "--json", "--interval", "0.1"], output, TextWriter.Null, new Tool.Doctor.LinuxMachine()));
        Assert.True(output.Reached.Wait(TimeSpan.FromMinutes(5)), "three looks");
        program.Kill();
        Assert.Equal(3, await tool);  // the process is gone
        foreach (string line in output.ToString().Split('\n', StringSplitOptions.RemoveEmptyEntries))
            Assert.Equal(program.Id, JsonDocument.Parse(line).RootElement.GetProperty("process").GetInt32());
    }

    [Fact]
    public async Task LeaksHaveTypesAndPlaces()
    {
        using var program = new RunningProgram("FREEHOLD_RECLAIM", "report");
        program.Order("leak 50000");
        JsonElement answer = await program.AskAsync("leaks");
        Assert.True(answer.GetProperty("reports").GetBoolean());
        JsonElement lost = answer.GetProperty("leaks").EnumerateArray().Single(leak => leak.GetProperty("type").GetString()!.EndsWith("Lost", StringComparison.Ordinal));
        Assert.InRange(lost.GetProperty("count").GetInt64(), 49_000, 50_000);
        Assert.Contains(lost.GetProperty("sites").EnumerateArray(), site => site.GetProperty("stack").GetString()!.Contains("Served.Lose", StringComparison.Ordinal));

        (int code, string text, _) = await RunningProgram.ToolAsync("leaks", program.Id.ToString(), "--top", "1");
        Assert.Equal(0, code);
        Assert.Contains("other types (--top)", text);
        Assert.Contains("objects that nothing reaches", text);
        Assert.Contains("Served.Lose", (await RunningProgram.ToolAsync("leaks", program.Id.ToString())).Output);
        // Asking leaves nothing behind that would be a leak itself.
        JsonElement again = await program.AskAsync("leaks");
        Assert.InRange(again.GetProperty("count").GetInt64(), 0, answer.GetProperty("count").GetInt64() + 100);
    }

    [Fact]
    public async Task WithoutReportTheToolSaysWhatIsMissing()
    {
        using var program = new RunningProgram();
        program.Order("leak 1000");
        (int code, string text, _) = await RunningProgram.ToolAsync("leaks", program.Id.ToString());
        Assert.Equal(0, code);
        Assert.Contains("FREEHOLD_RECLAIM=report", text);
    }

    [Theory]
    [InlineData(null, "")]
    [InlineData("FREEHOLD_STRESS", "promote:3000,reclaim:3000")]
    [InlineData("FREEHOLD_DEBUG", "1")]
    [InlineData("FREEHOLD_PROTECTION", "mprotect")]
    public async Task TheHeapIsWhole(string? variable, string value)
    {
        using var program = new RunningProgram(variable, value);
        for (int i = 0; i < 5; i++)
        {
            program.Order("delete 500");
            program.Order("leak 500");
            Assert.Equal(0, (await program.AskAsync("verify")).GetProperty("violations").GetInt64());
            Assert.True(await program.FigureAsync("AllocatedBytes") > 0);
            Assert.True((await program.AskAsync("leaks")).GetProperty("count").GetInt64() >= 0);
        }
        Assert.Contains("is whole", (await RunningProgram.ToolAsync("verify", program.Id.ToString())).Output);
        Assert.Equal(0, program.Quit());
    }

    [Fact]
    public async Task WithoutTheSettingThereIsNoSocket()
    {
        using var program = new RunningProgram(listens: false);
        Assert.Empty(program.Sockets);
        (int code, _, string error) = await RunningProgram.ToolAsync("stat", program.Id.ToString(), "--once");
        Assert.Equal(3, code);
        Assert.Contains("FREEHOLD_DIAGNOSTICS=1", error);
    }

    [Fact]
    public void TheSocketGoesWithTheProcess()
    {
        using var program = new RunningProgram();
        Assert.Equal(UnixFileMode.UserRead | UnixFileMode.UserWrite, File.GetUnixFileMode(program.Socket));
        Assert.Equal(UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute, File.GetUnixFileMode(Path.GetDirectoryName(program.Socket)!));
        Assert.Equal(0, program.Quit());
        Assert.Empty(program.Sockets);
    }

    [Fact]
    public async Task WhatAKilledProcessLeavesTheNextOneRemoves()
    {
        DirectoryInfo folder = Directory.CreateTempSubdirectory("freehold-");
        try
        {
            using var first = new RunningProgram(folder: folder.FullName);
            using var second = new RunningProgram(folder: folder.FullName);
            Assert.Equal(2, second.Sockets.Length);
            first.Kill();
            Assert.Equal(2, second.Sockets.Length);
            using var third = new RunningProgram(folder: folder.FullName);
            Assert.Equal(2, third.Sockets.Length);
            Assert.True(await second.FigureAsync("Stops") >= 0);
            Assert.True(await third.FigureAsync("Stops") >= 0);
        }
        finally
        {
            folder.Delete(recursive: true);
        }
    }

    [Fact]
    public async Task AChildOfAForkDoesNotAnswer()
    {
        using var program = new RunningProgram();
        string child = program.Order("fork");
        (int code, _, string error) = await RunningProgram.ToolAsync("stat", child, "--once");
        Assert.Equal(3, code);
        Assert.Contains("no diagnostics socket", error);
        Assert.True(await program.FigureAsync("Stops") >= 0);
        // It exits, and leaves its parent's file.
        using (var process = System.Diagnostics.Process.GetProcessById(int.Parse(child)))
        {
            Assert.Equal(0, Kill(process.Id, 15));
            for (int i = 0; i < 6_000 && IsRunning(process.Id); i++)
                await Task.Delay(10);
            Assert.False(IsRunning(process.Id));
        }
        Assert.True(File.Exists(program.Socket));
        Assert.True(await program.FigureAsync("Stops") >= 0);
        Assert.Equal(0, program.Quit());
    }

    [Fact]
    public async Task ManyAskAtOnce()
    {
        using var program = new RunningProgram();
        await Task.WhenAll(Enumerable.Range(0, 12).Select(i => Task.Run(() => i % 3 == 0 ? program.AskAsync("verify") : program.AskAsync("stat", "--once"))));
    }

    /// <summary>A seeded stream of bytes that are no requests, halves of requests and clients that go away: each gets a reason or nothing, and the process goes on.</summary>
    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    public async Task HostileInputHarmsNothing(int seed)
    {
        using var program = new RunningProgram("FREEHOLD_VERIFY", "1");
        var random = new Random(seed);
        for (int i = 0; i < 400; i++)
        {
            byte[] bytes = new byte[random.Next(5) switch { 0 => random.Next(16), 1 => 16, 2 => random.Next(17, 100), 3 => 16, _ => random.Next(1_000, 100_000) }];
            random.NextBytes(bytes);
            // Most begin as requests do, so that what comes behind is looked at.
            if (random.Next(3) != 0)
                new byte[] { (byte)'F', (byte)'H', (byte)'D', (byte)'G', 1, 0, (byte)random.Next(6), 0 }.AsSpan(0, Math.Min(8, bytes.Length)).CopyTo(bytes);
            if (random.Next(2) == 0 && bytes.Length >= 16)
                bytes.AsSpan(8, 8).Clear();
            using Socket client = program.Connect();
            try
            {
                client.Send(bytes);
                switch (random.Next(3))
                {
                    case 0:
                        break;  // goes away
                    case 1:
                        client.Shutdown(SocketShutdown.Send);
                        Drain(client);
                        break;
                    default:
                        if (bytes.Length >= 16)
                            Drain(client);
                        break;
                }
            }
            catch (SocketException)
            {
                // The process has ended the connection before it took all.
            }
        }
        Assert.Equal(0, (await program.AskAsync("verify")).GetProperty("violations").GetInt64());
        Assert.Equal(0, program.Quit());
        Assert.Equal("", program.Error);
    }

    private static void Drain(Socket client)
    {
        byte[] some = new byte[4_096];
        while (client.Receive(some) > 0)
        {
        }
    }

    // A zombie is none that runs.
    private static bool IsRunning(int process)
    {
        try
        {
            string status = File.ReadAllText($"/proc/{process}/stat");
            return status[status.LastIndexOf(')') + 2] != 'Z';
        }
        catch (IOException)
        {
            return false;
        }
    }

    [System.Runtime.InteropServices.DllImport("libc", EntryPoint = "kill")]
    private static extern int Kill(int process, int signal);

    private sealed class LinesUntil(int count) : StringWriter
    {
        private int _lines;

        public ManualResetEventSlim Reached { get; } = new();

        public override void WriteLine(string? value)
        {
            lock (Reached)
                base.WriteLine(value);
            if (Interlocked.Increment(ref _lines) == count)
                Reached.Set();
        }
    }
}
