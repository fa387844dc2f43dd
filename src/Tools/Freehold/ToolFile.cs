namespace Freehold.Tool;

/// <summary>Files that are given to a command.</summary>
internal static class ToolFile
{
    /// <summary>Opens a file and reads it; `read` gets the stream and the path, for messages.</summary>
    /// <exception cref="ToolException">It cannot be opened or read.</exception>
    public static T Read<T>(string path, Func<Stream, string, T> read)
    {
        try
        {
            using FileStream file = File.OpenRead(path);
            return read(file, path);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            throw new ToolException($"{path} cannot be read: {exception.Message}");
        }
    }
}
