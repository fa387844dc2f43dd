using System.IO.Compression;
using System.Text;

namespace Freehold.Differential.Programs;

/// <summary>GZip, Deflate, ZLib and Brotli round trips of one text.</summary>
internal static partial class Compression
{
    public static void Run()
    {
        var random = new Random(9);
        var text = new StringBuilder();
        for (int i = 0; i < 30_000; i++)
            text.Append("token").Append(random.Next(200)).Append(random.Next(3) == 0 ? '\n' : ' ');
        byte[] data = Encoding.UTF8.GetBytes(text.ToString());
        RoundTrip("gzip", data, stream => new GZipStream(stream, CompressionLevel.Optimal, true), stream => new GZipStream(stream, CompressionMode.Decompress));
        RoundTrip("deflate", data, stream => new DeflateStream(stream, CompressionLevel.Fastest, true), stream => new DeflateStream(stream, CompressionMode.Decompress));
        RoundTrip("zlib", data, stream => new ZLibStream(stream, CompressionLevel.SmallestSize, true), stream => new ZLibStream(stream, CompressionMode.Decompress));
        RoundTrip("brotli", data, stream => new BrotliStream(stream, CompressionLevel.Fastest, true), stream => new BrotliStream(stream, CompressionMode.Decompress));
        try
        {
            new GZipStream(new MemoryStream([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]), CompressionMode.Decompress).ReadByte();
        }
        catch (InvalidDataException)
        {
            Console.WriteLine("not gzip");
        }
    }

    private static void RoundTrip(string name, byte[] data, Func<Stream, Stream> compress, Func<Stream, Stream> decompress)
    {
        var sum = new Checksum();
        var packed = new MemoryStream();
        using (Stream stream = compress(packed))
        {
            for (int i = 0; i < data.Length; i += 4_099)
                stream.Write(data, i, Math.Min(4_099, data.Length - i));
        }
        sum.Add(packed.ToArray());
        long size = packed.Length;
        packed.Position = 0;
        var unpacked = new MemoryStream();
        using (Stream stream = decompress(packed))
            stream.CopyTo(unpacked);
        Console.WriteLine($"{name} {data.Length} {size} {sum} {unpacked.ToArray().AsSpan().SequenceEqual(data)}");
    }
}
