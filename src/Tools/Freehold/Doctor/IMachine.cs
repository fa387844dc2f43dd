using System.Runtime.InteropServices;

namespace Freehold.Tool.Doctor;

/// <summary>The machine that the doctor looks at; tests have others.</summary>
internal interface IMachine
{
    bool IsLinux { get; }

    Architecture Architecture { get; }

    string CurrentDirectory { get; }

    /// <summary>A variable of the environment; null when it is not set or empty.</summary>
    string? Variable(string name);

    /// <summary>The text of a file; null when it cannot be read.</summary>
    string? ReadFile(string path);

    bool HasDirectory(string path);

    /// <summary>The project files in a folder.</summary>
    IReadOnlyList<string> Projects(string folder);

    /// <summary>Whether files can be made in the folder, or the folder itself.</summary>
    bool CanWrite(string folder);

    /// <summary>Whether a program of that name is in PATH.</summary>
    bool HasProgram(string name);

    /// <summary>What a program writes on standard output; null when it is not there or ends with an error.</summary>
    string? Run(string program, params string[] arguments);

    /// <summary>Whether the kernel gives this process a userfaultfd for faults of user code.</summary>
    bool AllowsUserfaultfd();

    /// <summary>Whether it knows private expedited membarriers.</summary>
    bool AllowsMembarrier();
}
