using System.Text;

namespace Freehold.Differential.Programs;

/// <summary>Memory, buffered and custom streams with binary and text adapters.</summary>
internal static partial class Streams
{
    private sealed class XorStream(Stream inner, byte key) : Stream
    {
        public override bool CanRead => inner.CanRead;

        public override bool CanSeek => false;

        public override bool CanWrite => inner.CanWrite;

        public override long Length => inner.Length;

        public override long Position { get => inner.Position; set => throw new NotSupportedException(); }

        public override void Flush() => inner.Flush();

        public override int Read(byte[] buffer, int offset, int count)
        {
            int read = inner.Read(buffer, offset, Math.Min(count, 777));
            for (int i = 0; i < read; i++)
                buffer[offset + i] ^= key;
            return read;
        }

        public override long Seek(long offset, SeekOrigin origin) => throw new NotSupportedException();

        public override void SetLength(long value) => throw new NotSupportedException();

        public override void Write(byte[] buffer, int offset, int count)
        {
            byte[] copy = new byte[count];
            for (int i = 0; i < count; i++)
                copy[i] = (byte)(buffer[offset + i] ^ key);
            inner.Write(copy, 0, count);
        }
    }

    public static void Run()
    {
        var memory = new MemoryStream();
        using (var writer = new BinaryWriter(new BufferedStream(new XorStream(memory, 0x5a), 512), Encoding.UTF8, leaveOpen: true))
        {
            for (int i = 0; i < 10_000; i++)
            {
                writer.Write(i);
                writer.Write("text \u00e4 " + i);
                writer.Write(i / 3.0);
                writer.Write7BitEncodedInt(i * 17);
            }
        }
        var sum = new Checksum();
        sum.Add(memory.GetBuffer().AsSpan(0, (int)memory.Length));
        memory.Position = 0;
        using (var reader = new BinaryReader(new BufferedStream(new XorStream(memory, 0x5a), 333)))
        {
            for (int i = 0; i < 10_000; i++)
            {
                sum.Add(reader.ReadInt32());
                sum.Add(reader.ReadString());
                sum.Add(reader.ReadDouble());
                sum.Add(reader.Read7BitEncodedInt());
            }
        }
        Console.WriteLine(sum);
        var text = new MemoryStream();
        using (var writer = new StreamWriter(text, Encoding.Unicode, 100, leaveOpen: true))
        {
            for (int i = 0; i < 5_000; i++)
                writer.WriteLine("line " + i + new string('.', i % 80));
        }
        text.Position = 0;
        using (var reader = new StreamReader(text, detectEncodingFromByteOrderMarks: true))
        {
            while (reader.ReadLine() is { } line)
                sum.Add(line);
            Console.WriteLine(sum + " " + reader.CurrentEncoding.WebName);
        }
        var target = new MemoryStream(new byte[16], writable: true);
        try
        {
            target.Write(new byte[17]);
        }
        catch (NotSupportedException exception)
        {
            Console.WriteLine(exception.GetType().Name);
        }
    }
}
