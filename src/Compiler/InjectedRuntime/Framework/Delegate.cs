using System.Runtime.Importing;

namespace System;

[Framework]
public abstract class Delegate
{
    internal object _helperObject;
    internal nint _extraFunctionPointerOrData;

    internal struct Wrapper;
}
