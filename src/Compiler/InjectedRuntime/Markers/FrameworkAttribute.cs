namespace System.Runtime.Importing;

/// <summary>
/// A declaration of a type that CoreLib has: nothing of it is copied but members with <see cref="InjectedAttribute"/>, and references to its members become
/// references to CoreLib's, found by name and signature. On a member: its name there, if it is another.
/// </summary>
[AttributeUsage(AttributeTargets.All, Inherited = false)]
internal sealed class FrameworkAttribute(string name = null) : Attribute
{
    /// <summary>The name in CoreLib (a type's full name); null where it is that of the declaration.</summary>
    public string Name { get; } = name;
}
