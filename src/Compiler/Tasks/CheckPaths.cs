using System;
using System.IO;
using System.Linq;

namespace Freehold.Tasks;

/// <summary>
/// Refuses paths that cannot be on the linker's command line, before anything is compiled. ILCompiler's targets put them between double quotes, where a shell still
/// reads some characters, and MSBuild keeps them as items, where others have a meaning. Spaces, apostrophes, <c>&amp;</c> and letters of any language are fine.
/// </summary>
public sealed class CheckPaths : FreeholdTask
{
    private const string Shell = "\"$`\\!", Items = ";%*?\n\r";

    /// <summary>The folder of the toolchains; empty for the user's own.</summary>
    public string Cache { get; set; } = "";

    /// <summary>The package.</summary>
    public string Package { get; set; } = "";

    /// <summary>Where object files go.</summary>
    public string Objects { get; set; } = "";

    /// <summary>Where the executable is linked.</summary>
    public string Output { get; set; } = "";

    /// <inheritdoc />
    protected override void Run()
    {
        Check(Path.GetFullPath(Cache.Length != 0 ? Cache : PrepareToolchain.DefaultCacheDirectory()), "the toolchain cache", "Set FreeholdCacheDirectory to another folder.");
        Check(Package, "NuGet's package folder", "Set NUGET_PACKAGES to another folder.");
        Check(Objects, "the folder of object files", "Choose another, by IntermediateOutputPath or --artifacts-path.");
        Check(Output, "the folder of the executable", "Choose another, by OutputPath or --artifacts-path.");
    }

    private static void Check(string path, string what, string cure)
    {
        char[] refused = [.. path.Where(letter => (Shell + Items).Contains(letter, StringComparison.Ordinal)).Distinct()];
        if (refused.Length != 0)
        {
            throw new FreeholdException("FH0015", $"The path of {what}, '{path}', has characters that the linker's command line cannot hold: {string.Join(' ', refused)}. {cure}");
        }
    }
}
