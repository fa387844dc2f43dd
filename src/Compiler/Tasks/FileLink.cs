using System.IO;
using System.Runtime.InteropServices;

namespace Freehold.Tasks;

/// <summary>Puts a file into the toolchain without a second copy of its bytes where the file system allows it.</summary>
internal static class FileLink
{
    /// <summary>Makes <paramref name="target"/> a hard link to <paramref name="source"/>, or a copy on another file system.</summary>
    /// <remarks>Not a symbolic link: NuGet's cache may be cleared at any time, and the toolchain must then still be whole.</remarks>
    public static void LinkOrCopy(string source, string target)
    {
        if (Link(source, target) != 0)
        {
            File.Copy(source, target, overwrite: true);
        }
    }

    [DllImport("libc", EntryPoint = "link")]
    private static extern int Link([MarshalAs(UnmanagedType.LPUTF8Str)] string source, [MarshalAs(UnmanagedType.LPUTF8Str)] string target);
}
