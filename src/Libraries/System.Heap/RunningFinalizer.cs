using System.Runtime.InteropServices;

namespace System;

/// <summary>The layout of <c>RunningFinalizer</c> in heap/running_finalizers.h. It stays on the stack while the finalizer runs.</summary>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct RunningFinalizer(void* obj)
{
    private readonly void* _object = obj;
    private readonly void* _outer = null;
}
