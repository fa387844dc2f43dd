using System.Buffers.Binary;
using System.Diagnostics;
using Freehold.Maps.Elf;
using Freehold.Maps.GcInfo;
using Xunit;
using Xunit.Abstractions;

namespace Freehold.Maps.Tests;

/// <summary>
/// Random bytes, and inputs with random damage: the readers answer, or say that the input is no good. Nothing else, and soon. So many inputs, the same in each
/// run; with FREEHOLD_FUZZ_SECONDS new ones for so long (tests/Fuzz/fuzz.sh). A finding names the seed of its input.
/// </summary>
public sealed class DamagedInputTests(ITestOutputHelper output)
{
    private const string Victim = "/bin/ls";

    /// <summary>Beyond it a reader is stuck, or takes time that the input's size does not explain.</summary>
    private static readonly TimeSpan s_soon = TimeSpan.FromSeconds(60);

    /// <summary>The first bytes of what the JIT of .NET 10 has said of methods of a small program, one in hexadecimal digits a line.</summary>
    private static readonly byte[][] s_infos = [.. File.ReadLines(Path.Combine(AppContext.BaseDirectory, "gcinfo.txt")).Select(Convert.FromHexString)];

    [Theory]
    [InlineData(3)]
    [InlineData(4)]
    public void GcInfo(int version) => Try<FormatException>(version, 20_000, random => GcInfoDecoder.Decode(MakeInfo(random), version));

    [Fact]
    public void TheCorpusIsGood() => Assert.All(s_infos, info => GcInfoDecoder.Decode(info, 4));

    [Fact]
    public void ElfFiles()
    {
        byte[] whole = File.ReadAllBytes(Victim);
        ElfFile good = ElfFile.Parse(Victim, whole);
        int table = (int)BinaryPrimitives.ReadUInt64LittleEndian(whole.AsSpan(40));
        ElfSection header = good.FindSection(".eh_frame_hdr")!, frames = good.FindSection(".eh_frame")!;
        (int Start, int Length)[] places =
        [
            (0, 64), (table, whole.Length - table), ((int)header.Offset, 16), ((int)header.Offset, (int)header.Size), ((int)frames.Offset, (int)frames.Size), (0, whole.Length),
        ];
        Try<InputException>(7, 2_000, random =>
        {
            byte[] bytes = (byte[])whole.Clone();
            (int start, int length) = places[random.Next(places.Length)];
            for (int damage = random.Next(1, 5); damage > 0; damage--)
            {
                bytes[start + random.Next(length)] = (byte)(random.Next(4) == 0 ? 0xff : random.Next(256));
            }

            if (random.Next(8) == 0)
            {
                Array.Resize(ref bytes, random.Next(bytes.Length));
            }

            ElfFile file = ElfFile.Parse(Victim, bytes);
            file.ReadSymbols();
            file.ReadBuildId();
            if (file.FindSection(".text") is { } code)
            {
                FrameTable.Read(file, code);
            }
        });
    }

    /// <summary>Random bytes, small numbers behind a slim header (further in than most random bytes come), or what a JIT has written, with damage.</summary>
    private static byte[] MakeInfo(Random random)
    {
        if (random.Next(2) == 0)
        {
            byte[] info = (byte[])s_infos[random.Next(s_infos.Length)].Clone();
            for (int damage = random.Next(1, 6); damage > 0; damage--)
            {
                info[random.Next(info.Length)] ^= (byte)(1 << random.Next(8));
            }

            // The head of one, the rest of another; or one that is cut off.
            byte[] other = s_infos[random.Next(s_infos.Length)];
            int at = random.Next(info.Length);
            return random.Next(3) switch
            {
                0 => [.. info[..at], .. other[Math.Min(at, other.Length)..]],
                1 => info[..at],
                _ => info,
            };
        }

        byte[] bytes = new byte[random.Next(1, 64)];
        random.NextBytes(bytes);
        if (random.Next(2) == 0)
        {
            bytes[0] &= 0xfe;
            for (int j = 1; j < bytes.Length; j++)
            {
                bytes[j] &= (byte)random.Next(256);
            }
        }

        return bytes;
    }

    private void Try<TRefusal>(int firstSeed, int inputs, Action<Random> read)
        where TRefusal : Exception
    {
        _ = int.TryParse(Environment.GetEnvironmentVariable("FREEHOLD_FUZZ_SECONDS"), out int seconds);
        if (seconds != 0)
        {
            firstSeed = Random.Shared.Next(int.MaxValue / 2);
        }

        long start = Stopwatch.GetTimestamp();
        int answered = 0, refused = 0;
        for (int i = 0; seconds == 0 ? i < inputs : Stopwatch.GetElapsedTime(start).TotalSeconds < seconds; i++)
        {
            long before = Stopwatch.GetTimestamp();
            try
            {
                read(new Random(firstSeed + i));
                answered++;
            }
            catch (TRefusal)
            {
                refused++;
            }
            catch (Exception e)
            {
                Assert.Fail($"the input of seed {firstSeed + i}: {e}");
            }

            Assert.True(Stopwatch.GetElapsedTime(before) < s_soon, $"the input of seed {firstSeed + i} took {Stopwatch.GetElapsedTime(before)}");
        }

        output.WriteLine($"{answered} answered, {refused} refused");
        Assert.True(answered > 100 && refused > 100, $"{answered} answered, {refused} refused");
    }
}
