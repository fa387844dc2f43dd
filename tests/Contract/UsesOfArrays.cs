using System.Collections;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text;

namespace Freehold.Contract;

/// <summary>Uses of arrays, strings, boxes, delegates and collections.</summary>
internal static class UsesOfArrays
{
    private static readonly object s_live = new StringBuilder("live");
    private static readonly Subject s_target = new(70);

    public static IEnumerable<Case> All()
    {
        foreach ((string name, int length) in new[] { ("short", 100), ("long", 5_000), ("large", 100_000) })
        {
            yield return Bytes("bytes-read-" + name, length, a => a[7]);
            yield return Bytes("bytes-write-" + name, length, a => a[7] = 9);
            yield return Bytes("bytes-length-" + name, length, a => a.Length);
            yield return Bytes("bytes-array-copy-from-" + name, length, a => { byte[] to = new byte[a.Length]; Array.Copy(a, to, a.Length); return to; });
            yield return Bytes("bytes-array-copy-to-" + name, length, a => { Array.Copy(new byte[length], a, length); return 0; }, typeof(ArgumentNullException));
            yield return Bytes("bytes-array-copy-inside-" + name, length, a => { Array.Copy(a, 0, a, 10, a.Length - 10); return 0; });
            yield return Bytes("bytes-span-copy-from-" + name, length, a => { byte[] to = new byte[length]; a.AsSpan(0, length).CopyTo(to); return to; }, typeof(ArgumentOutOfRangeException));
            yield return Bytes("bytes-span-copy-to-" + name, length, a => { new byte[length].CopyTo(a.AsSpan(0, length)); return 0; }, typeof(ArgumentOutOfRangeException));
            yield return Bytes("bytes-memory-copy-from-" + name, length, CopyFrom);
            yield return Bytes("bytes-memory-copy-to-" + name, length, CopyTo);
            yield return Bytes("bytes-block-copy-" + name, length, a => { byte[] to = new byte[length]; Buffer.BlockCopy(a, 1, to, 0, length - 1); return to; }, typeof(ArgumentNullException));
            yield return Bytes("bytes-fill-" + name, length, a => { a.AsSpan(0, length).Fill(4); return 0; }, typeof(ArgumentOutOfRangeException));
            yield return Bytes("bytes-clear-" + name, length, a => { Array.Clear(a); return 0; }, typeof(ArgumentNullException));
            yield return Bytes("bytes-index-of-" + name, length, a => Array.IndexOf(a, (byte)251), typeof(ArgumentNullException));
            yield return Bytes("bytes-equal-" + name, length, a => a.AsSpan(0, length).SequenceEqual(new byte[length]), typeof(ArgumentOutOfRangeException));
            yield return Bytes("bytes-clone-" + name, length, a => a.Clone());
            yield return Bytes("bytes-sort-" + name, length, a => { byte[] copy = (byte[])a.Clone(); Array.Sort(copy); return copy[3]; });
            yield return Bytes("bytes-sort-in-place-" + name, length, a => { Array.Sort(a); return 0; }, typeof(ArgumentNullException));
            yield return Bytes("bytes-stream-" + name, length, a => { var stream = new MemoryStream(); stream.Write(a, 0, length); return stream.Length; }, typeof(ArgumentNullException));
            yield return Bytes("bytes-foreach-" + name, length, Sum);
            yield return Bytes("bytes-linq-" + name, length, a => a.Sum(b => b), typeof(ArgumentNullException));
            yield return Bytes("bytes-hash-" + name, length, a => System.Security.Cryptography.SHA256.HashData(a), typeof(ArgumentNullException));
            yield return References("references-read-" + name, length / 4, a => (string?)a[3]);
            yield return References("references-write-" + name, length / 4, a => a[3] = s_live);
            yield return References("references-write-null-" + name, length / 4, a => a[3] = null);
            yield return References("references-copy-from-" + name, length / 4, a => { object?[] to = new object?[a.Length]; Array.Copy(a, to, a.Length); return (string?)to[5]; });
            yield return References("references-copy-to-" + name, length / 4, a => { Array.Copy(new object?[length / 4], a, length / 4); return 0; }, typeof(ArgumentNullException));
            yield return References("references-copy-inside-" + name, length / 4, a => { Array.Copy(a, 0, a, 1, a.Length - 1); return 0; });
            yield return References("references-copy-checked-" + name, length / 4, a => { string?[] to = new string?[a.Length]; Array.Copy(a, to, a.Length); return to[5]; });
            yield return References("references-span-copy-" + name, length / 4, a => { object?[] to = new object?[length / 4]; a.AsSpan(0, length / 4).CopyTo(to); return (string?)to[^1]; }, typeof(ArgumentOutOfRangeException));
            yield return References("references-clear-" + name, length / 4, a => { Array.Clear(a, 1, length / 4 - 1); return 0; }, typeof(ArgumentNullException));
            yield return References("references-fill-" + name, length / 4, a => { Array.Fill(a, s_live); return 0; }, typeof(ArgumentNullException));
            yield return References("references-clone-" + name, length / 4, a => ((object?[])a.Clone()).Length);
            yield return References("references-list-" + name, length / 4, a => new List<object?>(a).Count, typeof(ArgumentNullException));
            yield return Structures("structures-read-" + name, length / 16, a => a[2].IsWhole);
            yield return Structures("structures-write-" + name, length / 16, a => { a[2] = new Mixed(4, "text", s_live); return 0; });
            yield return Structures("structures-copy-" + name, length / 16, a => { var to = new Mixed[a.Length]; Array.Copy(a, to, a.Length); return to[^1].IsWhole; });
        }

        yield return Strings("string-length", s => s.Length);
        yield return Strings("string-index", s => s[3]);
        yield return Strings("string-concat", s => s + "!", null);
        yield return Strings("string-equal", s => s == "text of 77", null);
        yield return Strings("string-hash", s => s.GetHashCode() == string.GetHashCode(s.AsSpan()));
        yield return Strings("string-substring", s => s.Substring(2, 4));
        yield return Strings("string-index-of", s => s.IndexOf("of", StringComparison.Ordinal));
        yield return Strings("string-upper", s => s.ToUpperInvariant());
        yield return Strings("string-split", s => s.Split(' ').Length);
        yield return Strings("string-format", s => $"<{s,40}>", null);
        yield return Strings("string-parse", s => int.Parse(s.AsSpan(8)), typeof(ArgumentOutOfRangeException));
        yield return Strings("string-builder", s => new StringBuilder().Append(s).Append(s).ToString(), null);
        yield return Strings("string-utf8", s => Encoding.UTF8.GetBytes(s).Length, typeof(ArgumentNullException));
        yield return Strings("string-compare", s => Math.Sign(string.CompareOrdinal(s, "text")), null);
        yield return Strings("string-dictionary", s => new Dictionary<string, int> { ["x"] = 1 }.ContainsKey(s), typeof(ArgumentNullException));
        yield return Strings("string-dictionary-ignoring-case", s => new Dictionary<string, int>(StringComparer.OrdinalIgnoreCase) { ["x"] = 1 }.ContainsKey(s), typeof(ArgumentNullException));
        yield return Strings("string-dictionary-span", s => new Dictionary<string, int> { ["x"] = 1 }.GetAlternateLookup<ReadOnlySpan<char>>().ContainsKey(s.AsSpan(1)), typeof(ArgumentOutOfRangeException));
        yield return Strings("string-foreach", s => { int total = 0; foreach (char c in s) total += c; return total; });
        yield return Strings("string-native", NativeLength, null);
        yield return Strings("string-write", s => { var writer = new StringWriter(); writer.Write(s); return writer.ToString(); }, null);

        yield return new Use<object>("box-unbox", 24, i => i, o => (int)o, typeof(NullReferenceException)).Case;
        yield return new Use<object>("box-equals", 24, i => i, o => o.Equals(5), typeof(NullReferenceException)).Case;
        yield return new Use<object>("box-format", 24, i => i * 0.5, o => ((IFormattable)o).ToString("F1", null), typeof(NullReferenceException)).Case;
        yield return new Use<object>("box-object-equals", 24, i => i, o => Equals(o, 5), null).Case;
        yield return new Use<object>("box-struct", 40, i => (i, "s"), o => ((int, string))o, typeof(NullReferenceException)).Case;
        yield return new Use<object>("box-pattern", 24, i => (long)i, o => o switch { int => 1, long => 2, _ => 3 }, null).Case;

        yield return new Use<Func<int>>("delegate-invoke", 64, _ => new Func<int>(s_target.Direct), d => d(), typeof(NullReferenceException)).Case;
        yield return new Use<Func<int>>("delegate-combine", 64, _ => new Func<int>(s_target.Direct), d => ((Func<int>)Delegate.Combine(new Func<int>(s_target.Twice), d))(), null).Case;
        yield return new Use<Func<int>>("delegate-target", 64, _ => new Func<int>(s_target.Direct), d => d.Target is Subject, typeof(NullReferenceException)).Case;
        yield return new Use<Func<int>>("delegate-equals", 64, _ => new Func<int>(s_target.Direct), d => d.Equals(new Func<int>(s_target.Direct)), typeof(NullReferenceException)).Case;
        yield return new Use<Func<int>>("delegate-thread", 64, _ => new Func<int>(s_target.Direct), d => Elsewhere(d), null).Case;

        yield return new Use<List<int>>("list-add", 32, _ => [], l => { l.Add(3); return 0; }, typeof(NullReferenceException)).Case;
        yield return new Use<List<int>>("list-foreach", 32, _ => [], l => { int total = 0; foreach (int n in l) total += n; return total; }, typeof(NullReferenceException)).Case;
        yield return new Use<List<int>>("list-count", 32, _ => [], l => l.Count, typeof(NullReferenceException)).Case;
        yield return new Use<Dictionary<int, int>>("dictionary-lookup", 80, _ => [], d => d.ContainsKey(1), typeof(NullReferenceException)).Case;
        yield return new Use<Dictionary<int, int>>("dictionary-foreach", 80, _ => [], d => { int total = 0; foreach ((int k, int v) in d) total += k + v; return total; }, typeof(NullReferenceException)).Case;
        yield return new Use<IEnumerable<int>>("iterator-foreach", 56, Three, e => { int total = 0; foreach (int n in e) total += n; return total; }, typeof(NullReferenceException)).Case;
        yield return new Use<IEnumerable<int>>("iterator-linq", 56, Three, e => e.Where(n => n > 2).Sum(), typeof(ArgumentNullException)).Case;
        yield return new Use<Exception>("exception-throw", 150, _ => new FormatException("message"), e =>
        {
            try
            {
                throw e;
            }
            catch (FormatException caught)
            {
                return caught.Message;
            }
        }, typeof(NullReferenceException)).Case;
        yield return new Use<int[,]>("matrix-read", 100, i => new int[3, 4], m => m[1, 2], typeof(NullReferenceException)).Case;
    }

    private static Case Bytes(string name, int length, Func<byte[], object?> use, Type? onNull = null) =>
        new Use<byte[]>(name, length + 24, i => { byte[] array = new byte[length]; array.AsSpan().Fill((byte)(i % 250)); return array; }, use, onNull).Case;

    private static Case References(string name, int length, Func<object?[], object?> use, Type? onNull = null) =>
        new Use<object?[]>(name, length * 8 + 24, i => { object?[] array = new object?[length]; Array.Fill(array, "element"); return array; }, use, onNull).Case;

    private static Case Structures(string name, int length, Func<Mixed[], object?> use) =>
        new Use<Mixed[]>(name, length * Unsafe.SizeOf<Mixed>() + 24, i => { var array = new Mixed[length]; Array.Fill(array, new Mixed(i, "text", null)); return array; }, use, null).Case;

    private static Case Strings(string name, Func<string, object?> use) => Strings(name, use, typeof(NullReferenceException));

    private static Case Strings(string name, Func<string, object?> use, Type? onNull) => new Use<string>(name, 48, Text, use, onNull).Case;

    private static object? Sum(byte[] bytes)
    {
        int total = 0;
        foreach (byte value in bytes)
            total += value;
        return total;
    }

    private static unsafe object? CopyFrom(byte[] bytes)
    {
        byte[] to = new byte[bytes.Length];
        fixed (byte* source = bytes, target = to)
            Buffer.MemoryCopy(source, target, to.Length, to.Length);
        return to;
    }

    private static unsafe object? CopyTo(byte[] bytes)
    {
        byte[] from = new byte[bytes.Length];
        fixed (byte* source = from, target = bytes)
            Buffer.MemoryCopy(source, target, from.Length, from.Length);
        return 0;
    }

    private static object? NativeLength(string text)
    {
        nint copy = Marshal.StringToCoTaskMemUTF8(text);
        Marshal.FreeCoTaskMem(copy);
        return copy != 0;
    }

    private static IEnumerable<int> Three(int from)
    {
        yield return from;
        yield return from + 1;
        yield return from + 2;
    }

    // One allocation: what is left over between the neighbours would keep their pages.
    private static string Text(int number)
    {
        Span<char> digits = stackalloc char[12];
        number.TryFormat(digits, out int length);
        return string.Concat("text of ", digits[..length]);
    }

    private static int Elsewhere(Func<int> function)
    {
        int result = 0;
        Exception? failure = null;
        var thread = new Thread(() =>
        {
            try
            {
                result = function();
            }
            catch (Exception exception)
            {
                failure = exception;
            }
        });
        thread.Start();
        thread.Join();
        return failure is null ? result : throw failure;
    }
}
