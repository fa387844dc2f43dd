using System.Globalization;

namespace Freehold.Integration.Tests;

/// <summary>A control group with little memory, of either version, as containers are made of.</summary>
public sealed class MemoryGroup : IDisposable
{
    private readonly string _folder;

    private MemoryGroup(string folder) => _folder = folder;

    /// <summary>A group of so many bytes, or null where none can be made: it takes root, and a hierarchy that can be written.</summary>
    public static MemoryGroup? TryMake(long bytes)
    {
        foreach ((string hierarchy, string limit) in new[] { ("/sys/fs/cgroup", "memory.max"), ("/sys/fs/cgroup/memory", "memory.limit_in_bytes") })
        {
            var group = new MemoryGroup(Path.Combine(hierarchy, "freehold-test-" + Guid.NewGuid().ToString("N")));
            try
            {
                Directory.CreateDirectory(group._folder);
                // Not a new file: where the hierarchy is not of this version, the folder is an ordinary one.
                using var file = new FileStream(Path.Combine(group._folder, limit), FileMode.Open, FileAccess.Write);
                file.Write(System.Text.Encoding.ASCII.GetBytes(bytes.ToString(CultureInfo.InvariantCulture)));
                return group;
            }
            catch (Exception failure) when (failure is IOException or UnauthorizedAccessException)
            {
                group.Dispose();
            }
        }

        return null;
    }

    /// <summary>Whether this machine lets tests make one.</summary>
    public static bool CanBeMade
    {
        get
        {
            using MemoryGroup? group = TryMake(1 << 30);
            return group is not null;
        }
    }

    /// <summary>Runs a program whose process is in the group from its start.</summary>
    public Outcome Run(Executable program, TimeSpan limit, params string[] arguments) =>
        new Executable("/bin/sh").Run(null, limit, ["-c", "echo $$ > \"$0/cgroup.procs\" && exec \"$@\"", _folder, program.Path, .. arguments]);

    public void Dispose()
    {
        // Threads of a process that has ended may be in it for a moment.
        for (int tries = 0; Directory.Exists(_folder); tries++)
        {
            try
            {
                Directory.Delete(_folder);
            }
            catch (IOException) when (tries < 100)
            {
                Thread.Sleep(20);
            }
        }
    }
}

/// <summary>A theory about programs in a <see cref="MemoryGroup"/>, reported as skipped where none can be made.</summary>
[AttributeUsage(AttributeTargets.Method)]
public sealed class MemoryGroupTheoryAttribute : TheoryAttribute
{
    private static readonly bool s_canBeMade = MemoryGroup.CanBeMade;

    public MemoryGroupTheoryAttribute()
    {
        if (!s_canBeMade)
            Skip = "No control group with a limit of memory can be made here: it takes root and a hierarchy that can be written.";
    }
}
