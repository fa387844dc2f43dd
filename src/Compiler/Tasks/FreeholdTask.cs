using System;
using System.IO;
using Microsoft.Build.Framework;
using Microsoft.Build.Utilities;

namespace Freehold.Tasks;

/// <summary>A task whose failures are <see cref="FreeholdException"/>: one MSBuild error with an id, a cause, a cure and a page.</summary>
public abstract class FreeholdTask : Task
{
    /// <summary>The page that documents the errors; an anchor with the error's id is appended.</summary>
    [Required]
    public string HelpLink { get; set; } = "";

    /// <inheritdoc />
    public sealed override bool Execute()
    {
        try
        {
            Run();
        }
        catch (FreeholdException exception)
        {
            LogError(exception.Id, exception.Message);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            LogError("FH0011", $"{exception.Message} Free some disk space or fix the permissions, or set FreeholdCacheDirectory to another folder.");
        }

        return !Log.HasLoggedErrors;
    }

    /// <summary>Does the work; throws <see cref="FreeholdException"/> when it cannot.</summary>
    protected abstract void Run();

    /// <summary>Logs a warning with its id and the page that documents it.</summary>
    protected void LogWarning(string id, string message) =>
        Log.LogWarning(null, id, null, $"{HelpLink}#{id.ToLowerInvariant()}", null, 0, 0, 0, 0, "{0}", message);

    private void LogError(string id, string message) =>
        Log.LogError(null, id, null, $"{HelpLink}#{id.ToLowerInvariant()}", null, 0, 0, 0, 0, "{0}", message);
}
