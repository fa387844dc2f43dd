using System.Reflection.Runtime.TypeInfos;
using System.Runtime.Importing;

namespace System;

[Framework]
internal sealed class RuntimeType
{
    [Framework(".ctor")]
    internal extern void Construct(RuntimeTypeInfo info);
}
