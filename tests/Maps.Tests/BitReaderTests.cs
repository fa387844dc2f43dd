using Freehold.Maps.GcInfo;
using Xunit;

namespace Freehold.Maps.Tests;

public sealed class BitReaderTests
{
    [Theory]
    [InlineData(0u)]
    [InlineData(1u)]
    [InlineData(7u)]
    [InlineData(8u)]
    [InlineData(255u)]
    [InlineData(256u)]
    [InlineData(1_000_000u)]
    [InlineData((uint)int.MaxValue)]
    public void UnsignedNumbersOfEveryGroupComeBack(uint value)
    {
        for (int group = 1; group <= 8; group++)
        {
            BitReader reader = new(new BitWriter().Bits(3, 5).Var(group, value).Bits(2, 2).ToArray());
            Assert.Equal(5u, reader.Read(3));
            Assert.Equal(value, reader.ReadVarUnsigned(group));
            Assert.Equal(2u, reader.Read(2));
        }
    }

    [Theory]
    [InlineData(0)]
    [InlineData(-1)]
    [InlineData(31)]
    [InlineData(32)]
    [InlineData(-32)]
    [InlineData(-33)]
    [InlineData(1_000_000)]
    [InlineData(-1_000_000)]
    public void SignedNumbersComeBack(int value)
    {
        BitReader reader = new(new BitWriter().VarSigned(6, value).Bits(2, 1).ToArray());
        Assert.Equal(value, reader.ReadVarSigned(6));
        Assert.Equal(1u, reader.Read(2));
    }

    [Fact]
    public void ReadingBehindTheEndIsAnError()
    {
        Assert.Throws<FormatException>(() => new BitReader([0xff]).Read(9));
        Assert.Throws<FormatException>(() => new BitReader([0xff, 0xff, 0xff, 0xff, 0xff, 0xff]).ReadVarUnsigned(2));
    }
}
