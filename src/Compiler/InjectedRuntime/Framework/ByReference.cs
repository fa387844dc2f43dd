using System.Runtime.Importing;

namespace System;

[Framework]
internal ref struct ByReference
{
    internal ref byte Value;
}
