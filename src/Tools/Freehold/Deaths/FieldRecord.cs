namespace Freehold.Tool.Deaths;

/// <summary>What became of the sampled objects that a field held alone in some look, of all places of allocation.</summary>
/// <param name="Type">A number in the profile's list.</param>
/// <param name="Offset">In bytes from the object's address.</param>
/// <param name="Objects">Distinct objects that a look found so.</param>
/// <param name="Held">How often a look found one so.</param>
/// <param name="Shared">How often another place held it too, or the same field of another object had the same value, sampled or not.</param>
/// <param name="Died">Objects that were dead when the field's object was.</param>
/// <param name="Survived">Objects that were alive then.</param>
/// <param name="Replaced">Objects that were dead when the field had another value.</param>
/// <param name="Moved">Objects that were alive when the field had another value, or none.</param>
/// <param name="Emptied">Objects that were dead when the field was null.</param>
/// <param name="Followed">Of the objects that nobody sampled: looks saw the end of so many, or that of the object that has the field.</param>
/// <param name="Unfollowed">How often a look found another one in it.</param>
/// <param name="Number">Which of the references that the class declares it is, from 1 on; 0: it is in a structure of an array.</param>
/// <param name="References">How many references the class declares.</param>
internal sealed record FieldRecord(int Type, long Offset, long Objects, long Held, long Shared, long Died, long Survived, long Replaced, long Moved, long Emptied, long Followed, long Unfollowed,
    long Number, long References);
