using System.Runtime.InteropServices;

namespace System;

/// <summary>An object of C or C++ that stays where it is until <see cref="Dispose"/>: see <see cref="NativeHandle.Pin"/>.</summary>
public unsafe ref struct NativePin : IDisposable
{
    private const string Library = "freehold_handles";
    private const long Unknown = -1;

    private readonly nint _handle;
    private readonly byte* _pointer;
    private readonly long _length;
    private readonly ulong _place;
    private bool _disposed;

    private NativePin(nint handle, byte* pointer, long length, ulong place)
    {
        _handle = handle;
        _pointer = pointer;
        _length = length;
        _place = place;
    }

    // The numbers of Found in src/NativeBridge/Runtime/control.cpp.
    private enum Found
    {
        Live,
        Plain,
        Freed,
        Unknown,
        Outside,
        NoMemory,
    }

    /// <summary>The address that the handle means.</summary>
    /// <exception cref="ObjectDisposedException">The pin was disposed of.</exception>
    public readonly void* Pointer
    {
        get
        {
            CheckAlive();
            return _pointer;
        }
    }

    /// <summary>The bytes from <see cref="Pointer"/> to the end of the object, whatever the allocator has added to what was asked for; -1: not known, the pointer was an address.</summary>
    public readonly long Length => _length;

    /// <summary>The bytes from <see cref="Pointer"/> to the end of the object.</summary>
    /// <exception cref="InvalidOperationException">The pointer was an address, whose length nobody knows: use <see cref="GetSpan"/>. Or there are more bytes than a span can have.</exception>
    /// <exception cref="ObjectDisposedException">The pin was disposed of.</exception>
    public readonly Span<byte> Span
    {
        get
        {
            if (_length == Unknown)
            {
                throw new InvalidOperationException($"0x{_handle:x} is an address, not a handle: the length of its object is not known. GetSpan takes one.");
            }

            return GetSpan(_length <= int.MaxValue ? (int)_length
                : throw new InvalidOperationException($"The object of handle 0x{_handle:x} has {_length} bytes, more than a span can have. GetSpan takes a part of them."));
        }
    }

    /// <summary>So many bytes from <see cref="Pointer"/> on. For an address they are taken on trust.</summary>
    /// <exception cref="ArgumentOutOfRangeException">The length is negative, or leads out of the object.</exception>
    /// <exception cref="ObjectDisposedException">The pin was disposed of.</exception>
    public readonly Span<byte> GetSpan(int length)
    {
        CheckAlive();
        if (length < 0 || (_length != Unknown && length > _length))
        {
            throw new ArgumentOutOfRangeException(nameof(length), length, $"The object of handle 0x{_handle:x} has {_length} bytes from there on.");
        }

        return new Span<byte>(_pointer, length);
    }

    /// <summary>The object may move again. Spans and pointers of it must no longer be used.</summary>
    /// <exception cref="InvalidOperationException">A copy of this pin was disposed of before.</exception>
    public void Dispose()
    {
        if (_disposed)
        {
            return;
        }

        _disposed = true;
        if (_place != 0 && Unpin((ulong)_handle, _place) == 0)
        {
            throw new InvalidOperationException($"A pin of handle 0x{_handle:x} was disposed of twice, by copies of it.");
        }
    }

    internal static NativePin Take(nint handle)
    {
        if (!NativeHandle.IsHandle(handle))
        {
            return new NativePin(handle, (byte*)handle, Unknown, 0);
        }

        PinnedObject pinned;
        Found found;
        try
        {
            found = (Found)Pin((ulong)handle, &pinned);
        }
        catch (Exception missing) when (missing is DllNotFoundException or EntryPointNotFoundException)
        {
            throw new InvalidOperationException($"0x{handle:x} looks like a handle, but no code of this process was compiled with handles (libfreehold_handles.so is not loaded).", missing);
        }

        return found switch
        {
            Found.Live => new NativePin(handle, (byte*)pinned.Address, (long)(pinned.Size - pinned.Offset), pinned.Place),
            Found.Freed => throw new ObjectDisposedException(null, $"The object of handle 0x{handle:x} (id {Id(handle)}) was freed."),
            Found.Outside => throw new ArgumentException($"Handle 0x{handle:x} (id {Id(handle)}) points {(long)pinned.Offset} bytes behind the start of its object, which has {pinned.Size} bytes.", nameof(handle)),
            Found.NoMemory => throw new InsufficientMemoryException($"There is no memory to note a pin of handle 0x{handle:x}."),
            _ => throw new ArgumentException($"0x{handle:x} is no handle that was given out (id {Id(handle)}).", nameof(handle)),
        };
    }

    private static uint Id(nint handle) => (uint)((ulong)handle >> 32) & int.MaxValue;

    // The library is in the process already if there is a handle: it is looked for by its name, not in folders where another copy may be.
    [DllImport(Library, EntryPoint = "freehold_handles_pin")]
    [DefaultDllImportSearchPaths(DllImportSearchPath.System32)]
    private static extern int Pin(ulong handle, PinnedObject* pinned);

    [DllImport(Library, EntryPoint = "freehold_handles_unpin")]
    [DefaultDllImportSearchPaths(DllImportSearchPath.System32)]
    private static extern int Unpin(ulong handle, ulong place);

    private readonly void CheckAlive()
    {
        if (_disposed)
        {
            throw new ObjectDisposedException(null, $"The pin of handle 0x{_handle:x} was disposed of.");
        }
    }

    // Of src/NativeBridge/Runtime/control.cpp.
    private struct PinnedObject
    {
        public ulong Address;
        public ulong Offset;
        public ulong Size;
        public ulong Place;
    }
}
