using System.Runtime.Importing;

namespace System.Reflection;

[Framework]
internal sealed class DynamicInvokeInfo
{
    internal Transform _returnTransform;

    internal enum Transform;
}
