namespace System.Runtime.Importing;

/// <summary>An operation that IL has and C# has not: in place of a call stands this instruction, or nothing if the name is empty.</summary>
[AttributeUsage(AttributeTargets.Method)]
internal sealed class InstructionAttribute(string name) : Attribute
{
    /// <summary>As IL names it.</summary>
    public string Name { get; } = name;
}
