namespace Freehold.Compare;

/// <summary>Publishes a project in several variants, each with its own intermediate files.</summary>
internal sealed class Publisher(Options options)
{
    /// <summary>The executable of each variant. A variant that cannot be published is left out, with a message.</summary>
    /// <param name="project">Its folder and name.</param>
    /// <param name="more">Variants beside the usual ones, unless the command line says which.</param>
    public Dictionary<Variant, string> Publish(string project, params Variant[] more)
    {
        var programs = new Dictionary<Variant, string>();
        foreach (var variant in options.With(more))
        {
            var folder = OutputFolder(project, variant);
            var program = Path.Combine(folder, project);
            if (options.Publish)
            {
                Log.Line($"publishing {project} ({variant.Heap})");
                try
                {
                    Command.RunOrThrow("dotnet", Arguments(project, variant));
                }
                catch (InvalidOperationException e)
                {
                    Log.Failure(e.Message);
                    continue;
                }
            }

            if (File.Exists(program))
            {
                programs[variant] = program;
            }
            else
            {
                Log.Failure($"{project} has not been published for {variant.Heap}.");
            }
        }

        return programs;
    }

    /// <summary>The same, and the native peers of the project that are wanted.</summary>
    public Dictionary<Variant, string> PublishWithNative(string project, params Variant[] more)
    {
        var programs = Publish(project, more);
        foreach (var variant in options.Natives)
        {
            var program = Path.Combine(OutputFolder(project, variant), project);
            Directory.CreateDirectory(Path.GetDirectoryName(program)!);
            string[] malloc = variant == Variant.Native && options.Malloc is { } library ? [library, "-Wl,-rpath," + Path.GetDirectoryName(library)] : variant.Properties;
            try
            {
                Command.RunOrThrow("c++", ["-std=c++20", "-O2", "-pthread", Path.Combine(options.Root, "benchmarks", project, "native.cpp"), "-o", program, "-Wl,--no-as-needed", .. malloc]);
                programs[variant] = program;
            }
            catch (InvalidOperationException e)
            {
                Log.Failure(e.Message);
            }
        }

        return programs;
    }

    public string OutputFolder(string project, Variant variant) => Path.Combine(options.Output, "programs", variant.Heap, project);

    public IEnumerable<string> Arguments(string project, Variant variant) =>
    [
        "publish", Path.Combine(options.Root, "benchmarks", project), "-r", "linux-x64", "-c", "Release", "--nologo", "-v", "quiet",
        "--artifacts-path", Path.Combine(options.Output, "build", variant.Heap), "-o", OutputFolder(project, variant), .. variant.Properties,
    ];
}
