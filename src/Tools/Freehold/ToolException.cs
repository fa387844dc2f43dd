namespace Freehold.Tool;

/// <summary>What was asked for cannot be; the message says why, and what to do.</summary>
internal sealed class ToolException(string message) : Exception(message);
