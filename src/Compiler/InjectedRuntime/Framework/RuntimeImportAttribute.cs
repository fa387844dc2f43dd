using System.Runtime.Importing;

namespace System.Runtime;

/// <summary>A method that is bound to a symbol at link time: an ordinary managed call without a transition.</summary>
[Framework]
[AttributeUsage(AttributeTargets.Method)]
internal sealed class RuntimeImportAttribute : Attribute
{
    public extern RuntimeImportAttribute(string library, string symbol);
}
