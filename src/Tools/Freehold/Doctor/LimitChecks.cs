using System.Globalization;

namespace Freehold.Tool.Doctor;

/// <summary>Limits of the process and of its container.</summary>
internal static class LimitChecks
{
    private const long LeastAddresses = 64L << 30;
    private const long SmallMemory = 64L << 20;

    public static IEnumerable<Finding> Run(IMachine machine) => [Addresses(machine), Memory(machine), Sockets(machine)];

    private static Finding Addresses(IMachine machine)
    {
        // "Max address space         unlimited            unlimited            bytes"
        string? line = machine.ReadFile("/proc/self/limits")?.Split('\n').FirstOrDefault(line => line.StartsWith("Max address space", StringComparison.Ordinal));
        string? soft = line?["Max address space".Length..].Split(' ', StringSplitOptions.RemoveEmptyEntries).FirstOrDefault();
        if (soft is null)
        {
            return Finding.Note("addresses", "/proc/self/limits cannot be read.");
        }

        if (!long.TryParse(soft, NumberStyles.None, CultureInfo.InvariantCulture, out long limit))
        {
            return Finding.Good("addresses", "not limited");
        }

        return limit >= LeastAddresses
            ? Finding.Note("addresses", $"a process may have {limit >> 30} GB of them; the heap reserves as many as it gets, up to 64 TB.")
            : Finding.Problem("addresses", $"a process may have {limit >> 30} GB of them, and the heap needs 64 GB at least, which take no memory: programs do not start.", "Lift the limit: 'ulimit -v unlimited'.");
    }

    private static Finding Memory(IMachine machine)
    {
        if (ControlGroupLimit(machine) is not { } limit)
        {
            return Finding.Good("memory", "no limit of a container; a heap may take 95% of the machine's memory");
        }

        string size = $"{limit >> 20} MB";
        return limit < SmallMemory
            ? Finding.Warning("memory", $"the container has {size}, of which a heap takes at most three quarters.", "Give it 64 MB or more, or set FREEHOLD_HEAP_LIMIT to what the program needs.")
            : Finding.Good("memory", $"the container has {size}; a heap takes at most {(limit / 4 * 3) >> 20} MB, or what FREEHOLD_HEAP_LIMIT says");
    }

    // Null: none. The smallest on the way up counts.
    private static long? ControlGroupLimit(IMachine machine)
    {
        // "0::/system.slice/x.service"; in a container with a namespace of its own, "0::/".
        string? path = machine.ReadFile("/proc/self/cgroup")?.Split('\n').FirstOrDefault(line => line.StartsWith("0::", StringComparison.Ordinal))?[3..];
        long? least = null;
        for (string? group = path; group is not null; group = group.Length <= 1 ? null : Path.GetDirectoryName(group))
        {
            Lower(machine.ReadFile($"/sys/fs/cgroup{group.TrimEnd('/')}/memory.max"));
        }

        Lower(machine.ReadFile("/sys/fs/cgroup/memory/memory.limit_in_bytes"));  // version 1
        return least;

        void Lower(string? text)
        {
            // Version 1 says "no limit" by a number beyond all memory.
            if (long.TryParse(text?.Trim(), NumberStyles.None, CultureInfo.InvariantCulture, out long limit) && limit < 1L << 60 && (least is null || limit < least))
            {
                least = limit;
            }
        }
    }

    private static Finding Sockets(IMachine machine)
    {
        string folder = machine.Variable("XDG_RUNTIME_DIR") ?? machine.Variable("TMPDIR") ?? "/tmp";
        return machine.CanWrite(folder) || machine.CanWrite("/tmp")
            ? Finding.Good("diagnostics", $"programs with FREEHOLD_DIAGNOSTICS=1 have their sockets in {folder}")
            : Finding.Warning("diagnostics", $"neither {folder} nor /tmp can be written to, so FREEHOLD_DIAGNOSTICS=1 opens no socket.", "Set TMPDIR to a folder that can be written to.");
    }
}
