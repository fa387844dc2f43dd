using System.Collections.Generic;
using System.Runtime;
using System.Runtime.CompilerServices;
using System.Runtime.Importing;

namespace System.Reflection.Runtime.MethodInfos;

[Framework]
internal abstract class RuntimeNamedMethodInfo<TRuntimeMethodCommon> : RuntimeMethodInfo
{
    public override IEnumerable<CustomAttributeData> CustomAttributes
    {
        [Replacement]
        get => FreeholdRuntime.WithoutPins(this);
    }

    /// <summary>What the getter was.</summary>
    [Injected]
    [FilledByPass]
    [MethodImpl(MethodImplOptions.InternalCall)]
    internal extern override IEnumerable<CustomAttributeData> FreeholdAllCustomAttributes();
}
