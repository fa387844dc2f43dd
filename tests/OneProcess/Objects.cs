using System.Runtime.InteropServices;

namespace Freehold.OneProcessTests;

/// <summary>objects.c, the runtime of handles behind it, and the meshing malloc.</summary>
internal static unsafe partial class Objects
{
    [LibraryImport("objects", EntryPoint = "object_make")]
    internal static partial nint Make(nuint size, uint seed);

    [LibraryImport("objects", EntryPoint = "object_is_intact")]
    internal static partial int IsIntact(nint handle, nuint size, uint seed);

    [LibraryImport("objects", EntryPoint = "object_free")]
    internal static partial void Free(nint handle);

    [LibraryImport("objects", EntryPoint = "object_inside")]
    internal static partial nint Inside(nint handle, long offset);

    [LibraryImport("objects", EntryPoint = "object_churn")]
    internal static partial ulong Churn(uint seed, uint rounds);

    [LibraryImport("objects", EntryPoint = "object_visit")]
    internal static partial int Visit(uint count, delegate* unmanaged<nint, nuint, uint, int> visit);

    [LibraryImport("objects", EntryPoint = "object_free_foreign")]
    internal static partial int FreeForeign(uint count);

    [LibraryImport("freehold_handles", EntryPoint = "freehold_handles_move_everything")]
    internal static partial void MoveEverything();

    [DllImport("freehold-mesh", EntryPoint = "freehold_mesh_compact")]
    internal static extern ulong Mesh();

    [DllImport("freehold-mesh", EntryPoint = "freehold_mesh_statistics")]
    internal static extern nuint Statistics(byte* text, nuint capacity);

    [DllImport("freehold-mesh", EntryPoint = "freehold_mesh_verify")]
    internal static extern byte* VerifyMesh();

    internal static byte At(int i, uint seed) => (byte)(seed + i * 7);
}
