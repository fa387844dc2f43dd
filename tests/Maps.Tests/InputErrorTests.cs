using System.Buffers.Binary;
using Xunit;

namespace Freehold.Maps.Tests;

public sealed class InputErrorTests : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("freehold-maps-").FullName;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Fact]
    public void MissingFile() => Check("cannot be read", Path.Combine(_folder, "absent"));

    [Fact]
    public void EmptyFile() => Check("is not an ELF file", Write([]));

    [Fact]
    public void ManagedAssembly() => Check("is not an ELF file", typeof(InputErrorTests).Assembly.Location);

    [Fact]
    public void OtherMachine()
    {
        byte[] header = Header();
        BinaryPrimitives.WriteUInt16LittleEndian(header.AsSpan(18), 0xb7);
        Check("not for x86-64", Write(header));
    }

    [Fact]
    public void NoSectionTable() => Check("has no section table", Write(Header()));

    [Fact]
    public void SectionTableBehindTheEnd()
    {
        byte[] header = Header();
        BinaryPrimitives.WriteUInt64LittleEndian(header.AsSpan(40), 1UL << 40);
        BinaryPrimitives.WriteUInt16LittleEndian(header.AsSpan(58), 64);
        BinaryPrimitives.WriteUInt16LittleEndian(header.AsSpan(60), 1);
        Check("is cut off", Write(header));
    }

    [Fact]
    public void NativeProgramThatIsNotNativeAot() => Check("is not a NativeAOT program", "/bin/ls");

    private static byte[] Header()
    {
        byte[] header = new byte[128];
        "\u007fELF"u8.CopyTo(header);
        header[4] = 2;
        header[5] = 1;
        BinaryPrimitives.WriteUInt16LittleEndian(header.AsSpan(18), 0x3e);
        return header;
    }

    private static void Check(string message, string path)
    {
        (int code, string output, string error) = Tool.Run(path);
        Assert.Equal(Program.BadInput, code);
        Assert.Contains(path, error);
        Assert.Contains(message, error);
        Assert.Empty(output);
    }

    private string Write(byte[] bytes)
    {
        string path = Path.Combine(_folder, "input");
        File.WriteAllBytes(path, bytes);
        return path;
    }
}
