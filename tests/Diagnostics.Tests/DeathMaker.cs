using System.Buffers.Binary;
using System.Text;
using System.Text.Json.Nodes;
using Freehold.Tool.Deaths;
using Freehold.Tool.Dumps;

namespace Freehold.Diagnostics.Tests;

/// <summary>Makes files of FREEHOLD_DEATHS with known content.</summary>
internal sealed class DeathMaker
{
    private readonly JsonArray _deaths = [], _fields = [], _types = [], _stacks = [], _places = [];

    public JsonObject Content { get; } = new()
    {
        ["process"] = 4242,
        ["version"] = "0.1.0",
        ["program"] = "/srv/app",
        ["atExit"] = true,
        ["allocated"] = 1_000_000_000,
        ["looks"] = 700,
        ["samples"] = 9_000,
        ["withoutRoom"] = 0,
        ["lost"] = 0,
        ["untold"] = 0,
        ["longestInterval"] = 2_000_000,
        ["nanoseconds"] = 1_500_000_000,
    };

    public DeathMaker()
    {
        Content["deaths"] = _deaths;
        Content["fields"] = _fields;
        Content["types"] = _types;
        Content["stacks"] = _stacks;
        Content["places"] = _places;
    }

    public DeathMaker Types(params IEnumerable<string> names)
    {
        foreach (string name in names)
            _types.Add(name);
        return this;
    }

    public DeathMaker Stack(params IEnumerable<string> places)
    {
        var stack = new JsonArray();
        foreach (string place in places)
        {
            stack.Add(_places.Count);
            _places.Add(place);
        }

        _stacks.Add(stack);
        return this;
    }

    public DeathMaker Death(DeathKind kind, long samples, int type = 0, int stack = 0, int holder = -1, long offset = 0, int method = -1, bool frameGone = false, int aliveAfter = 255)
    {
        _deaths.Add(new JsonObject
        {
            ["type"] = type,
            ["stack"] = stack,
            ["kind"] = (int)kind,
            ["holder"] = holder,
            ["offset"] = offset,
            ["method"] = method,
            ["frameGone"] = frameGone,
            ["aliveAfter"] = aliveAfter,
            ["samples"] = samples,
            ["bytes"] = samples * 131_072,
            ["ageSeen"] = kind == DeathKind.Unseen ? 0 : samples * 10_000,
            ["ageDead"] = samples * 20_000,
        });
        return this;
    }

    public DeathMaker Field(int type, long offset, long held, long shared = 0, long died = 0, long survived = 0, long replaced = 0, long moved = 0, long emptied = 0, long? objects = null, long followed = 0, long unfollowed = 0,
        long number = 1, long of = 1)
    {
        _fields.Add(new JsonObject
        {
            ["type"] = type,
            ["offset"] = offset,
            ["objects"] = objects ?? held,
            ["held"] = held,
            ["shared"] = shared,
            ["died"] = died,
            ["survived"] = survived,
            ["replaced"] = replaced,
            ["moved"] = moved,
            ["emptied"] = emptied,
            ["followed"] = followed,
            ["unfollowed"] = unfollowed,
            ["number"] = number,
            ["of"] = of
        });
        return this;
    }

    public byte[] ToBytes() => ToFile(Encoding.UTF8.GetBytes(Content.ToJsonString()));

    /// <summary>With a header that is right.</summary>
    public static byte[] ToFile(byte[] json)
    {
        byte[] file = new byte[DeathFile.HeaderSize + json.Length];
        DeathFile.Magic.CopyTo(file);
        BinaryPrimitives.WriteUInt32LittleEndian(file.AsSpan(8), DeathFile.CurrentVersion);
        BinaryPrimitives.WriteUInt32LittleEndian(file.AsSpan(12), Checksum.Of(json));
        BinaryPrimitives.WriteUInt64LittleEndian(file.AsSpan(16), (ulong)json.Length);
        json.CopyTo(file, DeathFile.HeaderSize);
        return file;
    }

    public DeathProfile Read() => DeathFile.Read(new MemoryStream(ToBytes()), "deaths");

    /// <summary>Of the one site that has died objects, or of the first.</summary>
    public DeathAdvice Advice() => DeathSite.All(Read())[0].Advice;
}
