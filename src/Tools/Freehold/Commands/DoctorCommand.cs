using System.CommandLine;
using Freehold.Tool.Doctor;
using Freehold.Tool.Views;

namespace Freehold.Tool.Commands;

/// <summary>`freehold doctor`: what a machine lacks to publish with Freehold, and to run such programs.</summary>
internal static class DoctorCommand
{
    public static System.CommandLine.Command Create(IMachine machine, TextWriter output)
    {
        Option<bool> json = CommonOptions.Json();
        var project = new Option<string?>("--project") { Description = "A project to look at too. Without it, the one of the current folder, if there is one.", HelpName = "FILE" };
        var command = new System.CommandLine.Command("doctor", "Checks what this machine, or the container that it runs in, needs to publish with Freehold and to run such programs. The exit code is 1 if something keeps them from it.") { project, json };
        command.SetAction(parsed =>
        {
            IReadOnlyList<Finding> findings = Examination.Run(machine, parsed.GetValue(project));
            if (parsed.GetValue(json))
            {
                FindingsView.WriteJson(findings, output);
            }
            else
            {
                FindingsView.Write(findings, Program.On(output));
            }

            return findings.Any(finding => finding.Severity == Severity.Problem) ? ExitCode.Found : ExitCode.Good;
        });
        return command;
    }
}
