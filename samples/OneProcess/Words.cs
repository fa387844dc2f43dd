using System.Runtime.InteropServices;

/// <summary>The words of words.c.</summary>
internal sealed unsafe partial class Words : IDisposable
{
    private nint _words = Create();

    public long Count => (long)CountOf(_words);

    /// <summary>How often the word was asked for, this time included.</summary>
    public ulong Ask(ReadOnlySpan<byte> word)
    {
        fixed (byte* bytes = word)
        {
            ulong asked = Ask(_words, bytes, (nuint)word.Length);
            return asked != 0 ? asked : throw new OutOfMemoryException();
        }
    }

    /// <summary>The length of the word that begins so and was asked for most often.</summary>
    public int Best(ReadOnlySpan<byte> start, Span<byte> to)
    {
        fixed (byte* bytes = start, room = to)
        {
            return (int)Best(_words, bytes, (nuint)start.Length, room, (nuint)to.Length);
        }
    }

    public long Forget(ulong below) => (long)Forget(_words, below);

    public void Dispose()
    {
        if (_words != 0) Destroy(_words);
        _words = 0;
    }

    [LibraryImport("words", EntryPoint = "words_create")]
    private static partial nint Create();

    [LibraryImport("words", EntryPoint = "words_destroy")]
    private static partial void Destroy(nint words);

    [LibraryImport("words", EntryPoint = "words_ask")]
    private static partial ulong Ask(nint words, byte* word, nuint length);

    [LibraryImport("words", EntryPoint = "words_best")]
    private static partial nuint Best(nint words, byte* start, nuint length, byte* to, nuint room);

    [LibraryImport("words", EntryPoint = "words_forget")]
    private static partial nuint Forget(nint words, ulong below);

    [LibraryImport("words", EntryPoint = "words_count")]
    private static partial nuint CountOf(nint words);
}
