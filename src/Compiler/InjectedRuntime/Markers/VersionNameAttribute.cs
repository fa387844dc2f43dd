namespace System.Runtime.Importing;

/// <summary>A declaration of a framework's method whose name depends on the version: the entry of framework.json that has it.</summary>
[AttributeUsage(AttributeTargets.Method)]
internal sealed class VersionNameAttribute(string entry) : Attribute
{
    /// <summary>A property of the rewriter's <c>FrameworkNames</c>.</summary>
    public string Entry { get; } = entry;
}
