using System.Buffers;
using System.Buffers.Binary;
using System.Runtime.InteropServices;
using System.Text;

namespace Freehold.Differential.Programs;

/// <summary>Span, Memory, sequences, MemoryMarshal and the search helpers.</summary>
internal static partial class SpansAndMemory
{
    private sealed class Segment : ReadOnlySequenceSegment<byte>
    {
        public Segment(byte[] data) => Memory = data;

        public Segment Append(byte[] data)
        {
            var next = new Segment(data) { RunningIndex = RunningIndex + Memory.Length };
            Next = next;
            return next;
        }
    }

    public static void Run()
    {
        byte[] data = new byte[100_000];
        new Random(14).NextBytes(data);
        var sum = new Checksum();
        for (int i = 0; i + 16 < data.Length; i += 13)
        {
            Span<byte> slice = data.AsSpan(i, 16);
            sum.Add(BinaryPrimitives.ReadInt64BigEndian(slice) ^ BinaryPrimitives.ReadInt32LittleEndian(slice[9..]));
            slice.Reverse();
            slice[..8].CopyTo(slice[5..]);
            sum.Add(slice.IndexOf((byte)7) + slice.IndexOfAnyInRange((byte)1, (byte)9) + slice.Count((byte)0));
        }
        sum.Add(data);
        Console.WriteLine(sum);
        Span<ulong> words = MemoryMarshal.Cast<byte, ulong>(data.AsSpan());
        words.Sort();
        Console.WriteLine($"{words.Length} {words[100]:x} {words.BinarySearch(words[777])}");
        Memory<char> memory = new char[5_000];
        for (int i = 0; i < memory.Length; i++)
            memory.Span[i] = (char)('a' + i * i % 26);
        Console.WriteLine(memory.Slice(100, 30).ToString() + " " + memory.Span.IndexOf("jq", StringComparison.Ordinal) + " " + memory.Span.LastIndexOfAny("xyz"));
        SearchValues<char> vowels = SearchValues.Create("aeiou");
        int count = 0;
        ReadOnlySpan<char> rest = memory.Span;
        for (int at; (at = rest.IndexOfAny(vowels)) >= 0; rest = rest[(at + 1)..])
            count++;
        Console.WriteLine(count);
        var first = new Segment(data[..1_000]);
        Segment last = first;
        for (int i = 1_000; i < 50_000; i += 997)
            last = last.Append(data[i..(i + 997)]);
        var sequence = new ReadOnlySequence<byte>(first, 0, last, last.Memory.Length);
        var reader = new SequenceReader<byte>(sequence);
        long total = 0;
        while (reader.TryReadLittleEndian(out long value))
            total ^= value;
        Console.WriteLine($"{sequence.Length} {total:x} {reader.Remaining} {sequence.Slice(900, 300).ToArray().Length}");
        var writer = new ArrayBufferWriter<byte>();
        for (int i = 0; i < 3_000; i++)
            Encoding.UTF8.GetBytes("chunk " + i, writer);
        Console.WriteLine(writer.WrittenCount);
        ref int first32 = ref MemoryMarshal.GetArrayDataReference(new[] { 5, 6, 7 });
        Console.WriteLine(first32 + " " + MemoryMarshal.AsBytes(new[] { 1, 2 }.AsSpan()).Length + " " + "abc".AsSpan().SequenceCompareTo("abd"));
        Span<string> texts = new string[300];
        for (int i = 0; i < texts.Length; i++)
            texts[i] = (i * 7 % 300).ToString("d3");
        texts.Sort(StringComparer.Ordinal);
        texts[100..200].CopyTo(texts[150..]);
        texts[..50].Fill("same");
        Console.WriteLine(string.Concat(texts.ToArray()).Length + texts[149] + texts[150] + texts[249] + texts[250] + texts[0]);
        try
        {
            Console.WriteLine(texts[300]);
        }
        catch (IndexOutOfRangeException)
        {
            Console.WriteLine("checked");
        }
    }
}
