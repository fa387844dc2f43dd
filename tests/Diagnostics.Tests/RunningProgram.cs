using System.Diagnostics;
using System.Net.Sockets;
using System.Text.Json;
using Freehold.Integration.Tests;
using Freehold.Tool.Doctor;

namespace Freehold.Diagnostics.Tests;

/// <summary>`Diagnostics serve` in a process of its own, with a folder of its own for sockets.</summary>
internal sealed class RunningProgram : IDisposable
{
    private static readonly TimeSpan s_patience = TimeSpan.FromMinutes(5);

    private readonly Process _process;
    private readonly string _folder;
    private readonly bool _ownsFolder;

    public RunningProgram(string? variable = null, string value = "", bool listens = true, string? folder = null, Executable? program = null)
    {
        _ownsFolder = folder is null;
        _folder = folder ?? Directory.CreateTempSubdirectory("freehold-").FullName;
        var start = new ProcessStartInfo((program ?? Published.Plain).Path, ["serve"]) { RedirectStandardInput = true, RedirectStandardOutput = true, RedirectStandardError = true };
        foreach (string name in start.Environment.Keys.Where(name => name.StartsWith("FREEHOLD_", StringComparison.Ordinal) || name == "XDG_RUNTIME_DIR").ToList())
            start.Environment.Remove(name);
        start.Environment["TMPDIR"] = _folder;
        if (listens)
            start.Environment["FREEHOLD_DIAGNOSTICS"] = "1";
        if (variable is not null)
            start.Environment[variable] = value;
        _process = Process.Start(start)!;
        _process.ErrorDataReceived += (_, line) => Error += line.Data is null ? "" : line.Data + "\n";
        _process.BeginErrorReadLine();
        Assert.Equal("ready", ReadLine());
    }

    public int Id => _process.Id;

    public string Error { get; private set; } = "";

    /// <summary>The files in its folder of sockets.</summary>
    public string[] Sockets => Directory.GetDirectories(_folder, "freehold-*") is [var folder] ? Directory.GetFiles(folder) : [];

    public string Socket => Assert.Single(Sockets);

    /// <summary>Runs the tool in this process.</summary>
    public static async Task<(int Code, string Output, string Error)> ToolAsync(params string[] arguments)
    {
        StringWriter output = new(), error = new();
        int code = await Tool.Program.Run(arguments, output, error, new LinuxMachine());
        return (code, output.ToString(), error.ToString());
    }

    public async Task<JsonElement> AskAsync(string command, params string[] options)
    {
        (int code, string output, string error) = await ToolAsync([command, Id.ToString(), "--json", .. options]);
        Assert.True(code == 0, error + output + Error);
        return JsonDocument.Parse(output).RootElement;
    }

    public async Task<long> FigureAsync(string name)
    {
        JsonElement answer = await AskAsync("stat", "--once");
        return answer.GetProperty("figures").EnumerateArray().Single(figure => figure.GetProperty("name").GetString() == name).GetProperty("value").GetInt64();
    }

    /// <summary>What it says to an order, without the line "done".</summary>
    public string Order(string order)
    {
        _process.StandardInput.WriteLine(order);
        _process.StandardInput.Flush();
        string said = "";
        for (string line = ReadLine(); line != "done"; line = ReadLine())
            said += line;
        return said;
    }

    /// <summary>A connection that is none of the tool's.</summary>
    public Socket Connect()
    {
        var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified) { ReceiveTimeout = (int)s_patience.TotalMilliseconds };
        socket.Connect(new UnixDomainSocketEndPoint(Socket));
        return socket;
    }

    public int Quit()
    {
        _process.StandardInput.WriteLine("quit");
        _process.StandardInput.Flush();
        Assert.True(_process.WaitForExit(s_patience), "it ends");
        _process.WaitForExit();
        return _process.ExitCode;
    }

    public void Kill()
    {
        _process.Kill();
        // Not until its output has ended, which children have too.
        Assert.True(_process.WaitForExit(s_patience), "it ends");
    }

    public void Dispose()
    {
        if (!_process.HasExited)
            Kill();
        _process.Dispose();
        if (_ownsFolder)
            Directory.Delete(_folder, recursive: true);
    }

    private string ReadLine()
    {
        Task<string?> line = _process.StandardOutput.ReadLineAsync();
        Assert.True(line.Wait(s_patience), "it says something");
        Assert.True(line.Result is not null, "it has ended: " + Error);
        return line.Result!;
    }
}
