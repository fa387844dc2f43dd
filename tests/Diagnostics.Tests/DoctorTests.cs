using System.Runtime.InteropServices;
using System.Text.Json;
using Freehold.Tool.Doctor;

namespace Freehold.Diagnostics.Tests;

/// <summary>`freehold doctor` on machines that lack something: each lack is told of, with a cure.</summary>
public sealed class DoctorTests
{
    private readonly FakeMachine _machine = new();

    [Fact]
    public void AGoodMachineHasNothingToCure()
    {
        foreach (Finding finding in Examination.Run(_machine, null))
        {
            Assert.True(finding.Severity == Severity.Good, finding.ToString());
            Assert.Null(finding.Cure);
        }
    }

    [Theory]
    [InlineData("arm", "platform", "Problem", "linux-x64")]
    [InlineData("not linux", "platform", "Problem", "another system")]
    [InlineData("no dotnet", "SDK", "Problem", "no program 'dotnet'")]
    [InlineData("old sdk", "SDK", "Problem", "9.0.110")]
    [InlineData("no packages", "packages", "Note", "downloads it")]
    [InlineData("no linker", "linker", "Problem", "FH0004")]
    [InlineData("no cache", "cache", "Problem", "/home/user/.cache/freehold")]
    [InlineData("other cache", "cache", "Problem", "/elsewhere/freehold")]
    [InlineData("no userfaultfd", "userfaultfd", "Warning", "6.1.0-13-amd64")]
    [InlineData("no membarrier", "membarrier", "Warning", "fence")]
    [InlineData("no huge pages", "huge pages", "Warning", "turned off")]
    [InlineData("few mappings", "kernel mappings", "Warning", "1,000")]
    [InlineData("few addresses", "addresses", "Problem", "47 GB")]
    [InlineData("small container", "memory", "Warning", "32 MB")]
    [InlineData("small parent", "memory", "Warning", "32 MB")]
    [InlineData("no folder for sockets", "diagnostics", "Warning", "FREEHOLD_DIAGNOSTICS")]
    public void ALackIsToldOf(string lack, string subject, string severity, string words)
    {
        switch (lack)
        {
            case "arm": _machine.Architecture = Architecture.Arm64; break;
            case "not linux": _machine.IsLinux = false; break;
            case "no dotnet": _machine.Sdks = null; break;
            case "old sdk": _machine.Sdks = "9.0.110 [/usr/share/dotnet/sdk]\n"; break;
            case "no packages": _machine.Directories.Clear(); break;
            case "no linker": _machine.Programs.Clear(); break;
            case "no cache": _machine.Unwritable.Add("/home/user/.cache/freehold"); break;
            case "other cache":
                _machine.Variables["XDG_CACHE_HOME"] = "/elsewhere";
                _machine.Unwritable.Add("/elsewhere/freehold");
                break;
            case "no userfaultfd": _machine.Userfaultfd = false; break;
            case "no membarrier": _machine.Membarrier = false; break;
            case "no huge pages": _machine.Files["/sys/kernel/mm/transparent_hugepage/enabled"] = "always madvise [never]\n"; break;
            case "few mappings": _machine.Files["/proc/sys/vm/max_map_count"] = "1000\n"; break;
            case "few addresses": _machine.Files["/proc/self/limits"] = "Max address space         51200000000          unlimited            bytes     \n"; break;
            case "small container": _machine.Files["/sys/fs/cgroup/memory.max"] = "33554432\n"; break;
            case "small parent":
                _machine.Files["/proc/self/cgroup"] = "0::/a/b\n";
                _machine.Files["/sys/fs/cgroup/a/memory.max"] = "33554432\n";
                _machine.Files["/sys/fs/cgroup/a/b/memory.max"] = "1073741824\n";
                break;
            case "no folder for sockets": _machine.Unwritable.Add("/tmp"); break;
            default: throw new ArgumentException(lack);
        }
        IReadOnlyList<Finding> findings = Examination.Run(_machine, null);
        Finding found = findings.First(finding => finding.Severity != Severity.Good);
        Assert.Equal(subject, found.Subject);
        Assert.Equal(severity, found.Severity.ToString());
        Assert.Contains(words, found.Message);
        Assert.Equal(found.Severity != Severity.Note, found.Cure is { Length: > 10 });
        // Nothing else is said to be wrong.
        Assert.All(findings, finding => Assert.True(finding.Severity == Severity.Good || finding.Subject == subject, finding.ToString()));
    }

    [Theory]
    [InlineData("Exe", "true", "net10.0", true, "Good", "published with Freehold")]
    [InlineData("Exe", "", "net10.0", true, "Problem", "FH0006")]
    [InlineData("Exe", "true", "net8.0", true, "Problem", "FH0002")]
    [InlineData("Library", "", "net9.0", true, "Good", "published with Freehold")]
    [InlineData("Exe", "true", "net10.0", false, "Note", "dotnet add package Freehold")]
    public void AProjectIsJudged(string type, string aot, string framework, bool refers, string severity, string words)
    {
        _machine.ProjectFiles.Add("/home/user/program/program.csproj");
        _machine.Project = $$"""
            { "Properties": { "PublishAot": "{{aot}}", "OutputType": "{{type}}", "TargetFramework": "{{framework}}" },
              "Items": { "PackageReference": [ { "Identity": "{{(refers ? "Freehold" : "Serilog")}}", "Version": "1.0.0" } ] } }
            """;
        Finding found = Assert.Single(Examination.Run(_machine, null), finding => finding.Subject == "program.csproj");
        Assert.Equal(severity, found.Severity.ToString());
        Assert.Contains(words, found.Message);
    }

    [Theory]
    [InlineData(null)]
    [InlineData("")]
    [InlineData("no JSON")]
    [InlineData("{}")]
    [InlineData("""{ "Properties": 1, "Items": {} }""")]
    public void AProjectThatCannotBeReadIsToldOf(string? said)
    {
        _machine.Project = said;
        Finding found = Assert.Single(Examination.Run(_machine, "/elsewhere/other.csproj"), finding => finding.Subject == "other.csproj");
        Assert.Equal(Severity.Warning, found.Severity);
        Assert.NotNull(found.Cure);
    }

    [Fact]
    public async Task TheCommandTellsScripts()
    {
        _machine.Programs.Clear();
        StringWriter output = new();
        Assert.Equal(1, await Tool.Program.Run(["doctor", "--json"], output, TextWriter.Null, _machine));
        JsonElement[] findings = [.. JsonDocument.Parse(output.ToString()).RootElement.EnumerateArray()];
        JsonElement problem = Assert.Single(findings, finding => finding.GetProperty("severity").GetString() == "problem");
        Assert.Equal("linker", problem.GetProperty("subject").GetString());
        Assert.Contains("apt-get install", problem.GetProperty("cure").GetString());

        output = new StringWriter();
        Assert.Equal(1, await Tool.Program.Run(["doctor"], output, TextWriter.Null, _machine));
        Assert.Contains("problem  linker: ", output.ToString());
        Assert.Contains("cure: ", output.ToString());
        Assert.Contains("1 problems", output.ToString());
        Assert.Equal(0, await Tool.Program.Run(["doctor"], TextWriter.Null, TextWriter.Null, new FakeMachine()));
    }
}
