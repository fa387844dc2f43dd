namespace System;

/// <summary>The object that this field refers to belongs to the object with the field: <see cref="Heap.Delete"/> of that one deletes both.</summary>
/// <remarks>
/// For an instance field of a class, of a reference type. A part that was deleted before, that two objects own, or that owns its owner is harmless.
/// The owner's finalizer runs first, then it is deleted, then its parts are, with their finalizers. Nothing happens when the field is set to something else.
/// </remarks>
[AttributeUsage(AttributeTargets.Field)]
public sealed class OwnedAttribute : Attribute
{
    /// <summary>For a collection: what is in it is owned too, as <see cref="Heap.DeleteAll"/> says; of a dictionary the values only.</summary>
    public bool Elements { get; set; }
}
