// The compiler knows these two attributes by name only; the framework's own are internal.
#pragma warning disable IDE0130
namespace System.Runtime;

/// <summary>The method is the symbol <paramref name="dllName"/>/<paramref name="entryPoint"/> of the executable.</summary>
[AttributeUsage(AttributeTargets.Method)]
internal sealed class RuntimeImportAttribute(string dllName, string entryPoint) : Attribute
{
    public string DllName { get; } = dllName;

    public string EntryPoint { get; } = entryPoint;
}

/// <summary>The method is visible to the linker under the name <paramref name="entryPoint"/>.</summary>
[AttributeUsage(AttributeTargets.Method)]
internal sealed class RuntimeExportAttribute(string entryPoint) : Attribute
{
    public string EntryPoint { get; } = entryPoint;
}
