using System.CommandLine;
using Freehold.Tool.Deaths;
using Freehold.Tool.Views;

namespace Freehold.Tool.Commands;

/// <summary>`freehold deaths FILE`: where objects died in a profiled run, and where a deletion might belong.</summary>
internal static class DeathsCommand
{
    public static Command Create(TextWriter output)
    {
        var file = new Argument<string>("FILE") { Description = "What a program that was started with FREEHOLD_DEATHS=FILE has written." };
        Option<bool> json = CommonOptions.Json();
        var top = new Option<int>("--top") { Description = "How many places, those with the most bytes.", HelpName = "N", DefaultValueFactory = _ => 20 };
        var command = new Command("deaths", "Says where objects that nobody deletes were allocated, what held them last, and where a deletion might belong: a scope, or [Owned].") { file, top, json };
        command.SetAction(parsed =>
        {
            DeathProfile profile = DeathFile.Read(parsed.GetValue(file)!);
            IReadOnlyList<DeathSite> sites = DeathSite.All(profile);
            int lines = Math.Max(1, parsed.GetValue(top));
            if (parsed.GetValue(json))
            {
                DeathsView.WriteJson(profile, sites, lines, output);
            }
            else
            {
                DeathsView.Write(profile, sites, lines, output);
            }

            return ExitCode.Good;
        });
        return command;
    }
}
