using System.Buffers.Binary;
using System.Text.Json;
using Freehold.Tool.Dumps;

namespace Freehold.Tool.Deaths;

/// <summary>Reads the file of FREEHOLD_DEATHS (docs/internals/deaths.md): as a whole, or not at all. Nothing that it says is believed unseen.</summary>
internal static class DeathFile
{
    public const int HeaderSize = 24;
    public const uint CurrentVersion = 1;
    // Many times what a program writes.
    private const long MostBytes = 128L << 20;
    private const int MostRows = 1 << 16, MostFields = 1 << 14;
    private const int NotKnown = 255;

    public static ReadOnlySpan<byte> Magic => "FHDEATHS"u8;

    /// <exception cref="ToolException">There is no such file, it is none of these, or it is damaged.</exception>
    public static DeathProfile Read(string path) => ToolFile.Read(path, Read);

    /// <summary>The same of a stream; `name` is for messages.</summary>
    public static DeathProfile Read(Stream stream, string name)
    {
        byte[] header = new byte[HeaderSize];
        if (stream.ReadAtLeast(header, HeaderSize, throwOnEndOfStream: false) < HeaderSize || !header.AsSpan().StartsWith(Magic))
        {
            throw new ToolException($"{name} is no profile of deaths: it does not begin as one. A program that is started with FREEHOLD_DEATHS={name} writes it.");
        }

        uint version = BinaryPrimitives.ReadUInt32LittleEndian(header.AsSpan(8)), sum = BinaryPrimitives.ReadUInt32LittleEndian(header.AsSpan(12));
        if (version != CurrentVersion)
        {
            throw new ToolException($"{name} is a profile of deaths in version {version} of the format; this tool reads version {CurrentVersion}. Use the tool of the version that the program was published with.");
        }

        ulong length = BinaryPrimitives.ReadUInt64LittleEndian(header.AsSpan(16));
        if (length > MostBytes)
        {
            throw Damaged(name, $"{length} bytes of content cannot be");
        }

        // In pieces: what says that it is long need not be.
        using var content = new MemoryStream();
        byte[] piece = new byte[64 << 10];
        for (int read; content.Length < (long)length && (read = stream.Read(piece, 0, (int)Math.Min(piece.Length, (long)length - content.Length))) != 0;)
        {
            content.Write(piece, 0, read);
        }

        if (content.Length < (long)length)
        {
            throw Damaged(name, $"it was cut off: {content.Length} of {length} bytes of its content are there");
        }

        if (stream.Read(piece, 0, 1) != 0)
        {
            throw Damaged(name, "something follows behind its end");
        }

        ReadOnlyMemory<byte> text = content.GetBuffer().AsMemory(0, (int)length);
        if (Checksum.Of(text.Span) != sum)
        {
            throw Damaged(name, "its checksum is wrong");
        }

        try
        {
            using JsonDocument document = JsonDocument.Parse(text);
            return Parse(document.RootElement);
        }
        catch (Exception exception) when (exception is JsonException or InvalidOperationException or KeyNotFoundException or FormatException)
        {
            throw Damaged(name, $"its content is wrong: {exception.Message}");
        }
    }

    private static DeathProfile Parse(JsonElement root)
    {
        string[] types = [.. root.GetProperty("types").EnumerateArray().Select(Text)], places = [.. root.GetProperty("places").EnumerateArray().Select(Text)];
        IReadOnlyList<int>[] stacks = [.. root.GetProperty("stacks").EnumerateArray().Select(stack => (IReadOnlyList<int>)[.. stack.EnumerateArray().Select(place => Index(place, 0, places.Length))])];
        return new DeathProfile
        {
            Process = Count(root, "process"),
            Program = Text(root.GetProperty("program")),
            AtExit = root.GetProperty("atExit").GetBoolean(),
            Allocated = Count(root, "allocated"),
            Looks = Count(root, "looks"),
            Samples = Count(root, "samples"),
            WithoutRoom = Count(root, "withoutRoom"),
            Lost = Count(root, "lost"),
            Untold = Count(root, "untold"),
            LongestInterval = Count(root, "longestInterval"),
            Nanoseconds = Count(root, "nanoseconds"),
            Types = types,
            Places = places,
            Stacks = stacks,
            Deaths = [.. Rows(root, "deaths", MostRows).Select(row => ParseDeath(row, types.Length, stacks, places.Length))],
            Fields = [.. Rows(root, "fields", MostFields).Select(row => new FieldRecord(Index(row.GetProperty("type"), 0, types.Length), Count(row, "offset"), Count(row, "objects"), Count(row, "held"),
                Count(row, "shared"), Count(row, "died"), Count(row, "survived"), Count(row, "replaced"), Count(row, "moved"), Count(row, "emptied"),
                Count(row, "followed"), Count(row, "unfollowed"), Count(row, "number"), Count(row, "of")))],
        };
    }

    private static JsonElement.ArrayEnumerator Rows(JsonElement root, string name, int most)
    {
        JsonElement rows = root.GetProperty(name);
        return rows.GetArrayLength() <= most ? rows.EnumerateArray() : throw new FormatException($"there cannot be {rows.GetArrayLength()} of '{name}'");
    }

    private static DeathRecord ParseDeath(JsonElement row, int types, IReadOnlyList<int>[] stacks, int places)
    {
        int stack = Index(row.GetProperty("stack"), 0, stacks.Length), frames = stacks[stack].Count;
        var record = new DeathRecord(Index(row.GetProperty("type"), 0, types), stack, (DeathKind)Index(row.GetProperty("kind"), 0, (int)DeathKind.Emptied + 1), Index(row.GetProperty("holder"), -1, types),
            Count(row, "offset"), Index(row.GetProperty("method"), -1, places), row.GetProperty("frameGone").GetBoolean(), Returned(row.GetProperty("aliveAfter"), frames),
            Count(row, "samples"), Count(row, "bytes"), Count(row, "ageSeen"), Count(row, "ageDead"));
        return record.Kind is DeathKind.HolderDied or DeathKind.Replaced or DeathKind.Emptied && record.Holder < 0 ? throw new FormatException("an object has no holder that died with it") : record;
    }

    // So many of the frames; the memory for stacks may have been full, and then there are none.
    private static int? Returned(JsonElement value, int frames)
    {
        int number = Index(value, 0, NotKnown + 1);
        return number == NotKnown || frames == 0 ? null : number <= frames ? number : throw new FormatException($"{number} of {frames} frames cannot have returned");
    }

    private static int Index(JsonElement value, int least, int end)
    {
        int number = value.GetInt32();
        return number >= least && number < end ? number : throw new FormatException($"there is no number {number} in a list of {end}");
    }

    private static long Count(JsonElement row, string name)
    {
        long number = row.GetProperty(name).GetInt64();
        return number is >= 0 and <= long.MaxValue / 4 ? number : throw new FormatException($"'{name}' cannot be {number}");
    }

    // Half of a pair of characters is an InvalidOperationException.
    private static string Text(JsonElement value) => value.GetString() ?? throw new FormatException("a name is null");

    private static ToolException Damaged(string name, string what) => new($"{name} is damaged: {what}.");
}
