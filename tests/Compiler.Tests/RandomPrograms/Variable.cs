namespace Freehold.Compiler.Tests.RandomPrograms;

/// <summary>A name that the code of a random program can use.</summary>
/// <param name="Name">The name.</param>
/// <param name="Kind">Of its value.</param>
/// <param name="CanBeSet">It is no <c>this</c> and no variable of a loop.</param>
/// <param name="CanBeCaptured">A lambda may use it.</param>
internal sealed record Variable(string Name, Kind Kind, bool CanBeSet = true, bool CanBeCaptured = true);
