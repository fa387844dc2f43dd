using System.Runtime.Importing;

namespace System.Runtime;

[Framework]
internal static unsafe class RawCalliHelper
{
    public static extern ref byte Call(nint thunk, void* method, ref byte self, ref byte result, void* arguments);
}
