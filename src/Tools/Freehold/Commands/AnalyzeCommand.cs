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
        var command = new Command("analyze", "Says what a heap held when it was dumped: by type, what holds most, the largest, what is unreachable, what was deleted.") { file, top, path, json };
        command.SetAction(parsed =>
        {
            HeapGraph graph = DumpReader.Read(parsed.GetValue(file)!);
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
}
