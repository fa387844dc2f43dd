using System.Diagnostics;
using System.IO.Pipes;
using System.Text;

namespace Freehold.Differential.Programs;

/// <summary>Many child processes with redirected pipes at once, while other threads allocate and delete; pipes with and without names; signals between processes.</summary>
internal static partial class PipesUnderLoad
{
    public static void Run()
    {
        bool stop = false;
        Thread[] load = [.. Enumerable.Range(0, 2).Select(seed => new Thread(() =>
        {
            var random = new Random(seed);
            var kept = new object[500];
            while (!Volatile.Read(ref stop))
            {
                int at = random.Next(kept.Length);
                Manual.Delete(kept[at]);
                kept[at] = random.Next(3) == 0 ? new object[random.Next(60)] : new byte[random.Next(3_000)];
            }
        }))];
        Array.ForEach(load, thread => thread.Start());
        try
        {
            RunAsync().GetAwaiter().GetResult();
        }
        finally
        {
            Volatile.Write(ref stop, true);
            Array.ForEach(load, thread => thread.Join());
        }
    }

    private static ProcessStartInfo Shell(string script) => new("/bin/sh", ["-c", script]) { RedirectStandardInput = true, RedirectStandardOutput = true, RedirectStandardError = true };

    private static async Task RunAsync()
    {
        string[] results = await Task.WhenAll(Enumerable.Range(0, 16).Select(async i =>
        {
            using Process process = Process.Start(Shell("cat; echo error >&2; exit " + (i % 5)))!;
            Task<string> error = process.StandardError.ReadToEndAsync();
            Task write = Task.Run(async () =>
            {
                for (int n = 0; n < 300; n++)
                    await process.StandardInput.WriteLineAsync($"line {n} of {i} " + new string('x', n % 80));
                process.StandardInput.Close();
            });
            var sum = new Checksum();
            while (await process.StandardOutput.ReadLineAsync() is { } line)
            {
                sum.Add(line);
                Manual.Delete(line);
            }
            await write;
            await process.WaitForExitAsync();
            return $"{i} {sum} {process.ExitCode} {(await error).Trim()}";
        }));
        Console.WriteLine(string.Join('\n', results));
        Events();
        await Killed();
        await Anonymous();
        await Named();
    }

    // Lines by events, as they come.
    private static void Events()
    {
        var lines = new List<string>();
        using var process = new Process { StartInfo = Shell("for i in 1 2 3 4 5 6 7 8; do echo out $i; echo err $i >&2; done"), EnableRaisingEvents = true };
        int exits = 0;
        using var exited = new ManualResetEventSlim();
        process.OutputDataReceived += (_, data) => Add(data.Data);
        process.ErrorDataReceived += (_, data) => Add(data.Data);
        process.Exited += (_, _) =>
        {
            exits++;
            exited.Set();
        };
        process.Start();
        process.BeginOutputReadLine();
        process.BeginErrorReadLine();
        process.WaitForExit();
        exited.Wait();
        lines.Sort(StringComparer.Ordinal);
        Console.WriteLine(string.Join(',', lines) + " " + exits);

        void Add(string? line)
        {
            lock (lines)
            {
                if (line is not null)
                    lines.Add(line);
            }
        }
    }

    private static async Task Killed()
    {
        Process[] sleepers = [.. Enumerable.Range(0, 6).Select(_ => Process.Start(Shell("read line"))!)];
        foreach (Process process in sleepers)
            process.Kill(entireProcessTree: true);
        int[] codes = await Task.WhenAll(sleepers.Select(async process =>
        {
            await process.WaitForExitAsync();
            return process.ExitCode;
        }));
        Console.WriteLine(string.Join(' ', codes));
        foreach (Process process in sleepers)
            process.Dispose();
        using Process closed = Process.Start(Shell("exit 3"))!;
        closed.WaitForExit();
        try
        {
            // More than fits into a pipe that nobody reads.
            for (int i = 0; i < 200; i++)
                await closed.StandardInput.WriteAsync(new string('y', 2_000));
            await closed.StandardInput.FlushAsync();
            Console.WriteLine("nothing");
        }
        catch (IOException)
        {
            Console.WriteLine("broken pipe " + closed.ExitCode);
        }
    }

    private static async Task Anonymous()
    {
        using var server = new AnonymousPipeServerStream(PipeDirection.Out);
        using var client = new AnonymousPipeClientStream(PipeDirection.In, server.ClientSafePipeHandle);
        Task write = Task.Run(() =>
        {
            for (int i = 0; i < 400; i++)
            {
                byte[] bytes = Encoding.UTF8.GetBytes($"message {i}\n");
                server.Write(bytes);
                Manual.Delete(bytes);
            }
            server.Dispose();
        });
        var sum = new Checksum();
        using (var reader = new StreamReader(client))
        {
            while (await reader.ReadLineAsync() is { } line)
                sum.Add(line);
        }
        await write;
        Console.WriteLine(sum);
    }

    private static async Task Named()
    {
        string name = "freehold-" + Guid.NewGuid().ToString("N");
        Task[] servers = [.. Enumerable.Range(0, 4).Select(async _ =>
        {
            await using var server = new NamedPipeServerStream(name, PipeDirection.InOut, 4, PipeTransmissionMode.Byte, PipeOptions.Asynchronous);
            await server.WaitForConnectionAsync();
            byte[] buffer = new byte[500];
            int read;
            while ((read = await server.ReadAsync(buffer)) != 0)
                await server.WriteAsync(buffer.AsMemory(0, read));
        })];
        long[] echoed = await Task.WhenAll(Enumerable.Range(0, 4).Select(async i =>
        {
            await using var client = new NamedPipeClientStream(".", name, PipeDirection.InOut, PipeOptions.Asynchronous);
            await client.ConnectAsync();
            long sum = 0;
            byte[] back = new byte[100];
            for (int n = 0; n < 60; n++)
            {
                byte[] bytes = new byte[100];
                bytes.AsSpan().Fill((byte)(n + i));
                await client.WriteAsync(bytes);
                await client.ReadExactlyAsync(back);
                sum += back.Sum(value => value);
                Manual.Delete(bytes);
            }
            return sum;
        }));
        await Task.WhenAll(servers);
        Console.WriteLine(string.Join(' ', echoed));
    }
}
