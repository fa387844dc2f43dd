using System.CommandLine;
using Freehold.Tool.Dumps;
using Freehold.Tool.Views;

namespace Freehold.Tool.Commands;

/// <summary>`freehold analyze FILE`: what a dump of a heap tells.</summary>
internal static class AnalyzeCommand
{
    public static Command Create(TextWriter output)
    {
        var file = new Argument<string>("FILE") { Description = "What 'freehold dump' has written." };
        Option<bool> json = CommonOptions.Json();
        var top = new Option<int>("--top") { Description = "How many lines of each table.", HelpName = "N", DefaultValueFactory = _ => 20 };
        var path = new Option<string>("--path") { Description = "Only the shortest way from a root to the object at this address, or to an object of a type with this name.", HelpName = "ADDRESS|TYPE" };
        var gcdump = new Option<string>("--gcdump") { Description = "Only writes what is alive to a file that PerfView, Visual Studio and 'dotnet-gcdump report' open.", HelpName = "OUTPUT" };
        var command = new Command("analyze", "Says what a heap held when it was dumped: by type, what holds most, the largest, what is unreachable, what was deleted.") { file, top, path, gcdump, json };
        command.SetAction(parsed =>
        {
            HeapGraph graph = DumpReader.Read(parsed.GetValue(file)!);
            if (parsed.GetValue(gcdump) is { Length: > 0 } other)
            {
                Convert(graph, other);
                output.WriteLine($"{other}: open it with PerfView or Visual Studio, or 'dotnet-gcdump report {other}'.");
                return ExitCode.Good;
            }

            int lines = Math.Max(1, parsed.GetValue(top));
            if (parsed.GetValue(path) is { Length: > 0 } wanted)
            {
                AnalysisView.WritePath(graph, RootPath.To(graph, RootPath.Parse(graph, wanted)), output);
                return ExitCode.Good;
            }

            var analysis = new HeapAnalysis(graph);
            if (parsed.GetValue(json))
            {
                AnalysisView.WriteJson(graph, analysis, lines, output);
            }
            else
            {
                AnalysisView.Write(graph, analysis, lines, output);
            }

            return ExitCode.Good;
        });
        return command;
    }

    private static void Convert(HeapGraph graph, string path)
    {
        try
        {
            NewFile.WriteAsync(path, stream =>
            {
                GcdumpWriter.Write(graph, stream);
                return Task.CompletedTask;
            }).GetAwaiter().GetResult();
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            throw new ToolException($"{path} cannot be written: {exception.Message}");
        }
    }
}
