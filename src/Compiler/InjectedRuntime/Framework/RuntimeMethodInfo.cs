using System.Collections.Generic;
using System.Runtime;
using System.Runtime.CompilerServices;
using System.Runtime.Importing;

namespace System.Reflection.Runtime.MethodInfos;

[Framework]
internal abstract class RuntimeMethodInfo : MethodInfo
{
    /// <summary>What <c>RuntimeMethodHandle.GetFunctionPointer</c> gives: the address of the method that pins, if there is one.</summary>
    internal nint LdFtnResult
    {
        [Replacement]
        get
        {
            nint pinning = FreeholdRuntime.PinningAddress(this, pinsNothing: true);
            return pinning != 0 ? pinning : FreeholdLdFtnResult();
        }
    }

    /// <summary>What the getter was.</summary>
    [Injected]
    [FilledByPass]
    [MethodImpl(MethodImplOptions.InternalCall)]
    internal extern nint FreeholdLdFtnResult();

    /// <summary>All custom attributes, those that pin too. Null for generic methods, of which none is a P/Invoke.</summary>
    [Injected]
    internal virtual IEnumerable<CustomAttributeData> FreeholdAllCustomAttributes() => null;
}
