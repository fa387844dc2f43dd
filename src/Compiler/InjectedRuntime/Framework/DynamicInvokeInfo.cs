using System.Runtime.Importing;

namespace System.Reflection;

[Framework]
internal sealed class DynamicInvokeInfo
{
    internal Transform _returnTransform;
    internal int _argumentCount;
    internal ArgumentInfo[] _arguments;

    internal enum Transform
    {
        ByRef = 0x1,
        Reference = 0x8,
    }

    internal struct ArgumentInfo
    {
        public extern Transform Transform { get; }
    }
}
