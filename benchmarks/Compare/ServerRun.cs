using System.Diagnostics;
using System.Globalization;

namespace Freehold.Compare;

/// <summary>One run of a server under load by wrk: it prints 'port N', and ends at GET /stop.</summary>
/// <param name="options">How long, and where the scripts are.</param>
/// <param name="script">The load, below benchmarks/.</param>
internal sealed class ServerRun(Options options, string script)
{
    public const int Connections = 32;

    public Measurement Measure(string program, Variant variant, string[] arguments, params string[] load)
    {
        using var server = Process.Start(new ProcessStartInfo(program, arguments) { RedirectStandardOutput = true })!;
        try
        {
            var port = server.StandardOutput.ReadLine() is { } line && line.StartsWith("port ", StringComparison.Ordinal) ? line[5..] : throw new InvalidOperationException($"{program} has not said its port.");
            Load("2", port, load);
            using var memory = new MemoryOf(server.Id);
            var said = Command.Values(Load($"{options.Seconds}", port, load));
            var samples = memory.Stop();
            var proportional = MemoryOf.Proportional(server.Id);
            using (var client = new HttpClient())
            {
                client.GetAsync(new Uri($"http://127.0.0.1:{port}/stop")).GetAwaiter().GetResult().Dispose();
            }

            var output = server.StandardOutput.ReadToEnd();
            server.WaitForExit();
            var measured = Command.Read(output, variant, server.ExitCode, mayFail: false, program);
            foreach (var (name, value) in said)
            {
                measured.Values[name] = value;
            }

            if (said["errors"] != 0)
            {
                throw new InvalidOperationException($"{program}: {said["errors"]} of the requests have failed.");
            }

            measured.Values[Beside.Time] = said["duration_us"] * 1000 / said["requests"];
            measured.Values["steady_pss_bytes"] = proportional;
            measured.Series["memory"] = samples;
            return measured;
        }
        finally
        {
            if (!server.HasExited)
            {
                server.Kill();
            }
        }
    }

    private string Load(string seconds, string port, string[] arguments) => Command.RunOrThrow(
        "wrk", ["-t", "1", "-c", Connections.ToString(CultureInfo.InvariantCulture), "-d", seconds + "s", "-s", Path.Combine(options.Root, "benchmarks", script), $"http://127.0.0.1:{port}", "--", .. arguments]);
}
