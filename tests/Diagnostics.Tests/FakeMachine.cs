using System.Runtime.InteropServices;
using Freehold.Tool.Doctor;

namespace Freehold.Diagnostics.Tests;

/// <summary>A machine on which nothing is wrong, until a test changes it.</summary>
internal sealed class FakeMachine : IMachine
{
    public FakeMachine()
    {
        foreach (string version in BuildChecks.RuntimeVersions)
            Directories.Add("/home/user/.nuget/packages/runtime.linux-x64.microsoft.dotnet.ilcompiler/" + version);
    }

    public bool IsLinux { get; set; } = true;

    public Architecture Architecture { get; set; } = Architecture.X64;

    public string CurrentDirectory => "/home/user/program";

    public Dictionary<string, string> Variables { get; } = new() { ["HOME"] = "/home/user" };

    public Dictionary<string, string> Files { get; } = new()
    {
        ["/sys/kernel/mm/transparent_hugepage/enabled"] = "always [madvise] never\n",
        ["/proc/sys/vm/max_map_count"] = "65530\n",
        ["/proc/sys/kernel/osrelease"] = "6.1.0-13-amd64\n",
        ["/proc/self/limits"] = "Limit                     Soft Limit           Hard Limit           Units     \nMax cpu time              unlimited            unlimited            seconds   \nMax address space         unlimited            unlimited            bytes     \n",
        ["/proc/self/cgroup"] = "0::/\n",
        ["/sys/fs/cgroup/memory.max"] = "max\n",
    };

    public HashSet<string> Directories { get; } = [];

    public HashSet<string> Programs { get; } = ["clang", "gcc", "dotnet"];

    public HashSet<string> Unwritable { get; } = [];

    public List<string> ProjectFiles { get; } = [];

    public string? Sdks { get; set; } = "9.0.110 [/usr/share/dotnet/sdk]\n10.0.401 [/usr/share/dotnet/sdk]\n";

    public string? Project { get; set; }

    public bool Userfaultfd { get; set; } = true;

    public bool Membarrier { get; set; } = true;

    public string? Variable(string name) => Variables.GetValueOrDefault(name);

    public string? ReadFile(string path) => Files.GetValueOrDefault(path);

    public bool HasDirectory(string path) => Directories.Contains(path);

    public IReadOnlyList<string> Projects(string folder) => ProjectFiles;

    public bool CanWrite(string folder) => !Unwritable.Contains(folder);

    public bool HasProgram(string name) => Programs.Contains(name);

    public string? Run(string program, params string[] arguments) => arguments[0] == "--list-sdks" ? Sdks : Project;

    public bool AllowsUserfaultfd() => Userfaultfd;

    public bool AllowsMembarrier() => Membarrier;
}
