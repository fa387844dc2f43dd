using System.Collections.Generic;
using System.Runtime.Importing;

namespace System.Reflection.Runtime.MethodInfos;

[Framework]
internal abstract class RuntimeMethodInfo : MethodInfo
{
    /// <summary>All custom attributes, those that pin too. Null for generic methods, of which none is a P/Invoke.</summary>
    [Injected]
    internal virtual IEnumerable<CustomAttributeData> FreeholdAllCustomAttributes() => null;
}
