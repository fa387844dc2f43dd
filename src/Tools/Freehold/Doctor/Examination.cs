namespace Freehold.Tool.Doctor;

/// <summary>All checks, in the order of a program's life: build, publish, run.</summary>
internal static class Examination
{
    public static IReadOnlyList<Finding> Run(IMachine machine, string? project)
    {
        Finding platform = Platform(machine);
        return platform.Severity == Severity.Problem
            ? [platform]
            : [platform, .. BuildChecks.Run(machine), .. ProjectChecks.Run(machine, project), .. KernelChecks.Run(machine), .. LimitChecks.Run(machine)];
    }

    private static Finding Platform(IMachine machine) =>
        machine.IsLinux && machine.Architecture == System.Runtime.InteropServices.Architecture.X64
            ? Finding.Good("platform", "linux-x64")
            : Finding.Problem("platform", $"Freehold supports linux-x64; this is {(machine.IsLinux ? "Linux" : "another system")} on {machine.Architecture}.",
                "Publish and run in a container or a virtual machine with Linux on x86-64.");
}
