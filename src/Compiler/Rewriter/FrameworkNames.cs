using System.IO;
using System.Text.Json;
using System.Text.Json.Serialization;

namespace Freehold.Rewriter;

/// <summary>runtime-patches/&lt;version&gt;/framework.json: how members of CoreLib that the passes know are called in one version. Null: the version has no such type.</summary>
public sealed record FrameworkNames
{
    private static readonly JsonSerializerOptions s_format = new()
    {
        PropertyNamingPolicy = JsonNamingPolicy.CamelCase,
        UnmappedMemberHandling = JsonUnmappedMemberHandling.Disallow,
    };

    /// <summary>The method of <c>Buffer</c> that calls the import <c>memmove</c>.</summary>
    public required string MoveByPointer { get; init; }

    /// <summary>The one that pins what it is given and calls <see cref="MoveByPointer"/>.</summary>
    public required string MoveByReference { get; init; }

    /// <summary>The method of <c>Buffer</c> that calls the import <c>memset</c>.</summary>
    public required string FillByPointer { get; init; }

    /// <summary>The one that pins what it is given and calls <see cref="FillByPointer"/>.</summary>
    public required string FillByReference { get; init; }

    /// <summary>The method of <c>Buffer</c> that moves references, all at once.</summary>
    public required string MoveOfReferences { get; init; }

    /// <summary>The one that calls <see cref="MoveOfReferences"/> for one chunk after the other.</summary>
    public required string MoveOfReferencesInChunks { get; init; }

    /// <summary>A handle that tells the raw address of its target.</summary>
    public required string? RawTargetHandle { get; init; }

    /// <summary>A generic handle that pins, beside <c>GCHandle</c>.</summary>
    public required string? PinnedHandle { get; init; }

    /// <summary>Reads the file; throws <see cref="RewriteException"/> when a name is missing or unknown.</summary>
    public static FrameworkNames Read(string path)
    {
        try
        {
            return JsonSerializer.Deserialize<FrameworkNames>(File.ReadAllText(path), s_format) ?? throw new RewriteException($"{path} is empty.");
        }
        catch (JsonException failure)
        {
            throw new RewriteException($"{path}: {failure.Message}");
        }
    }
}
