namespace System.Runtime;

/// <summary>The attribute of a P/Invoke with arguments to pin: each has a type of its own, derived from this one.</summary>
public abstract class FreeholdPins : Attribute
{
    /// <summary>The address of the method that pins; zero if the caller pins all that is needed.</summary>
    /// <param name="pinsNothing">Whether the caller pins nothing; else it pins what calls of a delegate pin.</param>
    public abstract nint Address(bool pinsNothing);
}
