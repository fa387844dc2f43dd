using System.Runtime.Importing;

namespace System.Runtime.InteropServices;

[Framework]
internal abstract class NativeFunctionPointerWrapper;
