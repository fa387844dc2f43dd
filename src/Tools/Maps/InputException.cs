namespace Freehold.Maps;

/// <summary>The file given cannot be read as what it should be. The message says what was expected and what to do.</summary>
public sealed class InputException(string message) : Exception(message);
