namespace Freehold.Tool.Deaths;

/// <summary>What became of the sampled objects that a field held alone in some look, of all places of allocation.</summary>
/// <param name="Type">A number in the profile's list.</param>
/// <param name="Offset">In bytes from the object's address.</param>
/// <param name="Held">How often a look found one so.</param>
/// <param name="Shared">How often another place held it too.</param>
/// <param name="Died">Objects that were dead when the field's object was.</param>
/// <param name="Survived">Objects that were alive then.</param>
/// <param name="Replaced">Objects that were dead when the field had another value.</param>
/// <param name="Moved">Objects that were alive then.</param>
internal sealed record FieldRecord(int Type, long Offset, long Held, long Shared, long Died, long Survived, long Replaced, long Moved);
