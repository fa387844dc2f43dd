using System.Runtime.InteropServices;
using System.Text;

namespace Freehold.Testing;

/// <summary>The values whose copies go to the child, by the names of their types: a type of the framework need not have a name in a published program that <see cref="Type.GetType(string)"/> finds.</summary>
internal static class SimpleValue
{
    private static readonly Dictionary<string, Row> s_rows = new Row[]
    {
        Row.Of(text => new string(MemoryMarshal.Cast<byte, char>(text)), value => MemoryMarshal.AsBytes(value.AsSpan()).ToArray()),
        Row.OfBits<bool>(),
        Row.OfBits<char>(),
        Row.OfBits<byte>(),
        Row.OfBits<sbyte>(),
        Row.OfBits<short>(),
        Row.OfBits<ushort>(),
        Row.OfBits<int>(),
        Row.OfBits<uint>(),
        Row.OfBits<long>(),
        Row.OfBits<ulong>(),
        Row.OfBits<nint>(),
        Row.OfBits<nuint>(),
        Row.OfBits<Int128>(),
        Row.OfBits<UInt128>(),
        Row.OfBits<Half>(),
        Row.OfBits<float>(),
        Row.OfBits<double>(),
        Row.OfBits<decimal>(),
        Row.OfBits<Guid>(),
        Row.OfBits<TimeSpan>(),
        Row.OfBits<DateOnly>(),
        Row.OfBits<TimeOnly>(),
        Row.OfBits<Rune>(),
        Row.Of(bytes => DateTime.FromBinary(BitConverter.ToInt64(bytes)), value => BitConverter.GetBytes(value.ToBinary())),
        Row.Of(
            bytes => new DateTimeOffset(BitConverter.ToInt64(bytes), new TimeSpan(BitConverter.ToInt64(bytes[sizeof(long)..]))),
            value => [.. BitConverter.GetBytes(value.Ticks), .. BitConverter.GetBytes(value.Offset.Ticks)]),
        Row.Of(bytes => new Uri(Encoding.UTF8.GetString(bytes), UriKind.RelativeOrAbsolute), value => Encoding.UTF8.GetBytes(value.OriginalString)),
    }.ToDictionary(row => row.Type.FullName!);

    /// <summary>The value as bytes; null if its type is none of these.</summary>
    internal static byte[]? ToBytes(object value) => RowOf(value.GetType())?.ToBytes(value);

    /// <summary>A value again.</summary>
    internal static object Read(string type, byte[] bytes) => s_rows[type].Read(bytes);

    /// <summary>An array for such values; null if the type is none of these.</summary>
    internal static Array? MakeArray(string type, int length) => s_rows.GetValueOrDefault(type)?.MakeArray(length);

    /// <summary>Whether it is one of these types.</summary>
    internal static bool Is(Type type) => RowOf(type) is not null;

    private static Row? RowOf(Type type) => type.FullName is { } name && s_rows.TryGetValue(name, out Row? row) && row.Type == type ? row : null;

    private delegate object Reader(ReadOnlySpan<byte> bytes);

    private delegate T Reader<out T>(ReadOnlySpan<byte> bytes);

    private sealed record Row(Type Type, Reader Read, Func<object, byte[]> ToBytes, Func<int, Array> MakeArray)
    {
        public static Row Of<T>(Reader<T> read, Func<T, byte[]> toBytes)
            where T : notnull => new(typeof(T), bytes => read(bytes), value => toBytes((T)value), length => new T[length]);

        public static Row OfBits<T>()
            where T : unmanaged => Of(bytes => MemoryMarshal.Read<T>(bytes), value => MemoryMarshal.AsBytes(MemoryMarshal.CreateReadOnlySpan(ref value, 1)).ToArray());
    }
}
