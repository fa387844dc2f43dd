namespace Freehold.Tool.Dumps;

/// <summary>A file for this user's eyes, which gets its name when it is whole, and in whose place there is none yet.</summary>
internal static class NewFile
{
    /// <summary>How many bytes it has.</summary>
    /// <exception cref="ToolException">There is a file of this name.</exception>
    /// <exception cref="IOException">It cannot be written.</exception>
    public static async Task<long> WriteAsync(string path, Func<Stream, Task> write)
    {
        if (Path.Exists(path))
        {
            throw new ToolException($"there is a file {path} already. Choose another name.");
        }

        string unfinished = path + ".part";
        FileStream stream = new(unfinished, new FileStreamOptions { Mode = FileMode.CreateNew, Access = FileAccess.ReadWrite, UnixCreateMode = UnixFileMode.UserRead | UnixFileMode.UserWrite });
        bool whole = false;
        try
        {
            await using (stream.ConfigureAwait(false))
            {
                await write(stream).ConfigureAwait(false);
                await stream.FlushAsync().ConfigureAwait(false);
                File.Move(unfinished, path, overwrite: false);
                whole = true;
                return stream.Length;
            }
        }
        finally
        {
            if (!whole)
            {
                File.Delete(unfinished);
            }
        }
    }
}
