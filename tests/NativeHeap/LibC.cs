using System.Runtime.InteropServices;

namespace Freehold.NativeHeapTests;

/// <summary>Functions of the C library, found at run time, and of the meshing malloc, linked.</summary>
internal static unsafe partial class LibC
{
    [DllImport("libc")]
    internal static extern byte* strdup(byte* text);

    [DllImport("libc")]
    internal static extern void* malloc(nuint size);

    [DllImport("libc")]
    internal static extern void free(void* memory);

    [DllImport("libc")]
    internal static extern int fork();

    [DllImport("libc")]
    internal static extern int waitpid(int process, int* status, int options);

    [DllImport("libc")]
    internal static extern void _exit(int code);

    [DllImport("libc", SetLastError = true)]
    internal static extern nint read(int file, void* buffer, nuint size);

    [DllImport("libc", SetLastError = true)]
    internal static extern int open(byte* path, int flags);

    [DllImport("freehold-mesh")]
    internal static extern nuint freehold_mesh_statistics(byte* text, nuint capacity);

    [DllImport("freehold-mesh")]
    internal static extern ulong freehold_mesh_compact();

    [DllImport("freehold-mesh")]
    internal static extern byte* freehold_mesh_verify();
}
