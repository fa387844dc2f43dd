using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Security.Cryptography;
using System.Text;
using System.Text.RegularExpressions;
using System.Threading;
using System.Threading.Tasks;
using Microsoft.Build.Framework;
using TaskItem = Microsoft.Build.Utilities.TaskItem;

namespace Freehold.Tasks;

/// <summary>Compiles the program's C and C++, with handles or without, and links shared libraries of it, which are published beside the executable.</summary>
/// <remarks>Libraries and not parts of the executable: the runtime of handles is one, and a P/Invoke finds them by their name, with nothing else to write.</remarks>
public sealed partial class CompileNativeSources : FreeholdTask, ICancelableTask, IDisposable
{
    private static readonly string[] s_options = ["-O2", "-g", "-fPIC", "-fno-color-diagnostics", "-fno-caret-diagnostics"];

    private readonly CancellationTokenSource _cancellation = new();

    /// <summary>The items FreeholdNativeSource: metadata Handles, Library and Options.</summary>
    [Required]
    public ITaskItem[] Sources { get; set; } = [];

    /// <summary>The library of sources that name none.</summary>
    [Required]
    public string Library { get; set; } = "";

    /// <summary>Where objects and libraries go.</summary>
    [Required]
    public string OutputDirectory { get; set; } = "";

    /// <summary>Where the compilers run: paths in options begin there.</summary>
    [Required]
    public string ProjectDirectory { get; set; } = "";

    /// <summary>The package's folder with the compiler of handles.</summary>
    [Required]
    public string HandleCompiler { get; set; } = "";

    /// <summary>False: handles are left out, as for a comparison with another heap.</summary>
    public bool Handles { get; set; } = true;

    /// <summary>clang; empty for the one in PATH.</summary>
    public string Clang { get; set; } = "";

    /// <summary>More options for the link.</summary>
    public string LinkOptions { get; set; } = "";

    /// <summary>The files to publish.</summary>
    [Output]
    public ITaskItem[] Libraries { get; private set; } = [];

    /// <inheritdoc />
    public void Cancel() => _cancellation.Cancel();

    /// <inheritdoc />
    public void Dispose() => _cancellation.Dispose();

    /// <inheritdoc />
    protected override void Run()
    {
        NativeSource[] sources = NativeSource.Read(Sources, Library, Handles);
        var hashes = new NativeObject.FileHashes();
        try
        {
            var compiler = new NativeCompiler(Clang, HandleCompiler, ProjectDirectory, sources.Any(source => source.Handles), _cancellation.Token);
            (NativeSource Source, NativeObject Object)[] objects = [.. sources.Select(source => (source, ObjectOf(source, compiler)))];
            MakeAll([.. objects.Select(pair => pair.Object)], compiler, hashes);
            if (Log.HasLoggedErrors)
            {
                return;
            }

            var libraries = objects.GroupBy(pair => pair.Source.Library, (name, parts) => (Name: name, Parts: parts.ToArray())).ToArray();
            MakeAll([.. libraries.Select(library => LibraryOf(library.Name, library.Parts, compiler))], compiler, hashes);
            List<string> files = [.. libraries.Select(library => PathOf(library.Name))];
            if (sources.Any(source => source.Handles))
            {
                files.Add(Path.Combine(HandleCompiler, "lib", "libfreehold_handles.so"));
            }

            Libraries = [.. files.Select(ToPublish)];
        }
        catch (OperationCanceledException)
        {
            throw new FreeholdException("FH0019", "The compilation of FreeholdNativeSource was cancelled. Publish again.");
        }
    }

    private static TaskItem ToPublish(string path)
    {
        var item = new TaskItem(path);
        item.SetMetadata("RelativePath", Path.GetFileName(path));
        item.SetMetadata("CopyToPublishDirectory", "PreserveNewest");
        return item;
    }

    private string PathOf(string library) => Path.Combine(Path.GetFullPath(OutputDirectory), $"lib{library}.so");

    // Files of one name in two folders have objects of two names.
    private NativeObject ObjectOf(NativeSource source, NativeCompiler compiler)
    {
        string name = Convert.ToHexStringLower(SHA256.HashData(Encoding.UTF8.GetBytes(source.Path)))[..8];
        string path = Path.Combine(Path.GetFullPath(OutputDirectory), source.Library, $"{Path.GetFileNameWithoutExtension(source.Path)}-{name}.o");
        return new NativeObject(
            path,
            [.. compiler.CommandOf(source.Handles, source.IsCxx), .. s_options, .. source.Options, "-MD", "-MF", NativeObject.DependenciesOf(path), "-c", source.Path, "-o", path],
            [source.Path, .. NativeSource.ResponseFiles(source.Options)]);
    }

    // A function that nobody defines is an error of the build, and not one of its first call.
    private NativeObject LibraryOf(string name, (NativeSource Source, NativeObject Object)[] parts, NativeCompiler compiler)
    {
        bool handles = parts.Any(part => part.Source.Handles);
        string path = PathOf(name);
        IReadOnlyList<string> options = NativeSource.Split(LinkOptions);
        return new NativeObject(
            path,
            [
                .. compiler.CommandOf(handles, parts.Any(part => part.Source.IsCxx)), .. handles ? ["--runtime-beside"] : Array.Empty<string>(), "-shared", "-g",
                .. parts.Select(part => part.Object.Path), "-Wl,-z,defs", $"-Wl,-soname,{Path.GetFileName(path)}", "-Wl,-rpath,$ORIGIN", .. options, "-lm",
                "-Xlinker", $"--dependency-file={NativeObject.DependenciesOf(path)}", "-o", path,
            ],
            [.. parts.Select(part => part.Object.Path), .. NativeSource.ResponseFiles(options)],
            linked: true);
    }

    private void MakeAll(NativeObject[] all, NativeCompiler compiler, NativeObject.FileHashes hashes)
    {
        var stale = all.Where(one => !one.IsCurrent(compiler.Identity, hashes)).ToArray();
        var failed = new HashSet<NativeObject>();
        try
        {
            Parallel.ForEach(stale, new ParallelOptions { MaxDegreeOfParallelism = Environment.ProcessorCount, CancellationToken = _cancellation.Token }, one =>
            {
                one.Begin(ProjectDirectory, hashes);
                (int code, string output) = compiler.Run(one.Command);
                if (code == 0)
                {
                    hashes.Forget(one.Path);
                    one.End(compiler.Identity, output, ProjectDirectory, hashes);
                    return;
                }

                lock (failed)
                {
                    failed.Add(one);
                    Tell(output, one.Command, code);
                }
            });
        }
        catch (AggregateException exception) when (exception.InnerExceptions[0] is OperationCanceledException or FreeholdException or IOException or UnauthorizedAccessException)
        {
            System.Runtime.ExceptionServices.ExceptionDispatchInfo.Throw(exception.InnerExceptions[0]);
        }

        // Each time, whether it was compiled now or before.
        foreach (NativeObject one in all.Where(one => !failed.Contains(one)))
        {
            Tell(one.Log, one.Command, 0);
        }

        Log.LogMessage(MessageImportance.Low, "FreeholdNativeSource: {0} of {1} made anew", stale.Length, all.Length);
    }

    // clang's words, with its places: an editor leads there.
    private void Tell(string output, IReadOnlyList<string> command, int code)
    {
        bool told = false;
        foreach (string line in output.Split('\n', StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries))
        {
            Match match = Diagnostic().Match(line);
            if (!match.Success)
            {
                Log.LogMessage(code != 0 ? MessageImportance.High : MessageImportance.Low, "{0}", line);
                continue;
            }

            string file = Path.GetFullPath(match.Groups["file"].Value, ProjectDirectory), text = match.Groups["text"].Value;
            (int row, int column) = (int.Parse(match.Groups["line"].ValueSpan), int.Parse(match.Groups["column"].ValueSpan));
            if (match.Groups["kind"].Value == "warning")
            {
                Log.LogWarning(null, "FH0020", null, $"{HelpLink}#fh0020", file, row, column, 0, 0, "{0}", text);
            }
            else if (match.Groups["kind"].Value == "note")
            {
                Log.LogMessage(null, "FH0020", null, file, row, column, 0, 0, MessageImportance.High, "{0}", text);
            }
            else
            {
                told = true;
                Log.LogError(null, "FH0019", null, $"{HelpLink}#fh0019", file, row, column, 0, 0, "{0}", text);
            }
        }

        if (code != 0 && !told)
        {
            Log.LogError(null, "FH0019", null, $"{HelpLink}#fh0019", null, 0, 0, 0, 0, "{0}", $"'{string.Join(' ', command)}' failed with exit code {code}: {output.Trim()} Correct the source, or its Options.");
        }
    }

    [GeneratedRegex(@"^(?<file>[^:]+):(?<line>\d+):(?<column>\d+): (?:(?:fatal )?(?<kind>error)|(?<kind>warning|note)): (?<text>.*)$")]
    private static partial Regex Diagnostic();
}
