using System.Runtime.Importing;
using Internal.Runtime;

namespace System;

/// <summary>What an object begins with.</summary>
[Framework("System.Object")]
internal unsafe class ObjectLayout
{
    internal MethodTable* m_pEEType;
}
