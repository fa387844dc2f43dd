using System;
using System.IO;
using Microsoft.Build.Framework;

namespace Freehold.Tasks;

/// <summary>Looks at the linked executable: Freehold's heap must be in it, the stock garbage collector must not.</summary>
/// <remarks>
/// The toolchain holds no stock collector, so a link without <c>libfreehold.a</c> fails anyway; this catches an executable that something else linked,
/// from an older obj/ for instance. By strings and not by symbols, since the executable is stripped by now.
/// </remarks>
public sealed class CheckExecutable : FreeholdTask
{
    /// <summary>The executable.</summary>
    [Required]
    public string Executable { get; set; } = "";

    /// <summary>Value of FreeholdNativeHeap: with <c>mesh</c> the meshing malloc must be in it too.</summary>
    public string NativeHeap { get; set; } = "";

    /// <inheritdoc />
    protected override void Run()
    {
        ReadOnlySpan<byte> image = File.ReadAllBytes(Executable);

        // A name from the table of knobs, which every build of the heap holds.
        if (image.IndexOf("FREEHOLD_STATS"u8) < 0)
        {
            throw new FreeholdException("FH0013", $"'{Executable}' was linked without Freehold's heap. Delete the obj folder and publish again.");
        }

        if (NativeHeap == "mesh" && image.IndexOf("FREEHOLD_MESH_BARRIER"u8) < 0)
        {
            throw new FreeholdException("FH0013", $"'{Executable}' was linked without the meshing malloc that FreeholdNativeHeap=mesh asks for. Delete the obj folder and publish again.");
        }
    }
}
