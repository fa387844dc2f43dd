using System.Globalization;

namespace Freehold.Tool.Doctor;

/// <summary>What the kernel, or the profile of the container, gives to programs that run on Freehold's heap.</summary>
internal static class KernelChecks
{
    private const int UsualMappings = 65_530;

    public static IEnumerable<Finding> Run(IMachine machine) => [Userfaultfd(machine), Membarrier(machine), HugePages(machine), Mappings(machine)];

    private static Finding Userfaultfd(IMachine machine) =>
        machine.AllowsUserfaultfd()
            ? Finding.Good("userfaultfd", "allowed: dead pages are watched without kernel mappings")
            : Finding.Warning("userfaultfd", $"refused by this kernel ({Kernel(machine)}) or by the container's seccomp profile: programs use mprotect, which takes more time and kernel mappings.",
                "Use Linux 5.11 or later; in a container, allow the system call 'userfaultfd' in the seccomp profile.");

    private static Finding Membarrier(IMachine machine) =>
        machine.AllowsMembarrier()
            ? Finding.Good("membarrier", "allowed: pins cost no fence")
            : Finding.Warning("membarrier", "refused by this kernel or by the container's seccomp profile: each pin costs a fence.", "Use Linux 4.14 or later; in a container, allow the system call 'membarrier'.");

    private static Finding HugePages(IMachine machine)
    {
        // "always [madvise] never"
        string? modes = machine.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled");
        if (modes is null)
        {
            return Finding.Note("huge pages", "the kernel does not say whether it has them.");
        }

        return modes.Contains("[never]", StringComparison.Ordinal)
            ? Finding.Warning("huge pages", "turned off for the whole machine: a large heap costs more page faults and address translations.", "As root: 'echo madvise > /sys/kernel/mm/transparent_hugepage/enabled'.")
            : Finding.Good("huge pages", modes.Contains("[always]", StringComparison.Ordinal) ? "for all memory" : "for memory that asks for them, as the heap does");
    }

    private static Finding Mappings(IMachine machine)
    {
        if (!int.TryParse(machine.ReadFile("/proc/sys/vm/max_map_count")?.Trim(), NumberStyles.None, CultureInfo.InvariantCulture, out int count))
        {
            return Finding.Note("kernel mappings", "/proc/sys/vm/max_map_count cannot be read.");
        }

        return count >= UsualMappings
            ? Finding.Good("kernel mappings", string.Create(CultureInfo.InvariantCulture, $"{count:N0} for each process (vm.max_map_count)"))
            : Finding.Warning("kernel mappings", string.Create(CultureInfo.InvariantCulture, $"{count:N0} for each process, fewer than the usual {UsualMappings:N0}: heaps recycle less memory."), $"As root: 'sysctl vm.max_map_count={UsualMappings}'.");
    }

    private static string Kernel(IMachine machine) => machine.ReadFile("/proc/sys/kernel/osrelease")?.Trim() is { Length: > 0 } release ? "Linux " + release : "of unknown version";
}
