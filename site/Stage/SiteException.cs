namespace Freehold.Site;

/// <summary>The sources of the site are wrong: the message names the file, and the line where there is one.</summary>
internal sealed class SiteException(string message) : Exception(message);
