using System.Runtime.Importing;

namespace System.Runtime;

/// <summary>A method that native code calls by this symbol.</summary>
[Framework]
[AttributeUsage(AttributeTargets.Method)]
internal sealed class RuntimeExportAttribute : Attribute
{
    public extern RuntimeExportAttribute(string symbol);
}
