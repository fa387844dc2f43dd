namespace System;

/// <summary>
/// Pointers that C and C++ compiled by <c>freehold-cc</c> gives to C#. They are handles: numbers with bit 63 set, whose objects move. Such a pointer is stored and passed back as it is, as a
/// <see cref="nint"/>. To read the memory behind it, pin it.
/// </summary>
public static class NativeHandle
{
    /// <summary>Whether the value is a handle. Other values are addresses.</summary>
    public static bool IsHandle(nint value) => value < 0;

    /// <summary>Keeps the object of a handle where it is, for as long as the result lives: <c>using NativePin pin = NativeHandle.Pin(handle);</c></summary>
    /// <param name="handle">A handle, also one that points into its object. An address is taken as it is: nothing keeps that memory, and nobody knows how long it is.</param>
    /// <returns>The pin. It lives on the stack: neither another thread nor an asynchronous method can have it. The same object may be pinned more than once.</returns>
    /// <remarks>
    /// The object must not be freed meanwhile. A pin may wait for a stop of the threads of compiled code, which takes about a millisecond. Pinned objects keep the memory around them from
    /// being compacted: pin for a call or a loop, not for the life of a cache.
    /// </remarks>
    /// <exception cref="ArgumentNullException">The handle is null.</exception>
    /// <exception cref="ObjectDisposedException">The object was freed.</exception>
    /// <exception cref="ArgumentException">The handle was never given out, or it points outside of its object.</exception>
    /// <exception cref="InvalidOperationException">The handle is one, but no code of this process was compiled with handles.</exception>
    /// <exception cref="InsufficientMemoryException">There is no memory to note the pin.</exception>
    public static NativePin Pin(nint handle) => handle == 0 ? throw new ArgumentNullException(nameof(handle)) : NativePin.Take(handle);
}
