using System.Runtime.InteropServices;

namespace System;

/// <summary>The layout of <c>OutgrownArrays</c> in heap/outgrown_arrays.h.</summary>
[StructLayout(LayoutKind.Sequential)]
internal struct OutgrownEntry
{
    internal long Bytes;
    internal long NextBytes;
}
