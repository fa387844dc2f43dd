using System.IO.Compression;

namespace Freehold.Differential.Programs;

/// <summary>A zip archive written, updated and read back in memory.</summary>
internal static partial class ZipArchives
{
    public static void Run()
    {
        var memory = new MemoryStream();
        using (var archive = new ZipArchive(memory, ZipArchiveMode.Create, leaveOpen: true))
        {
            for (int i = 0; i < 60; i++)
            {
                ZipArchiveEntry entry = archive.CreateEntry($"folder{i % 5}/file{i}.txt", i % 2 == 0 ? CompressionLevel.Fastest : CompressionLevel.NoCompression);
                entry.LastWriteTime = new DateTimeOffset(2020, 1, 1 + i % 28, 0, 0, 0, TimeSpan.Zero);
                using var writer = new StreamWriter(entry.Open());
                for (int j = 0; j < 300; j++)
                    writer.WriteLine($"{i} line {j * j}");
            }
        }
        using (var archive = new ZipArchive(memory, ZipArchiveMode.Update, leaveOpen: true))
        {
            foreach (ZipArchiveEntry entry in archive.Entries.Where(entry => entry.Name.EndsWith("7.txt", StringComparison.Ordinal)).ToList())
                entry.Delete();
            using var writer = new StreamWriter(archive.CreateEntry("late.txt").Open());
            writer.Write("late");
        }
        memory.Position = 0;
        using var read = new ZipArchive(memory, ZipArchiveMode.Read);
        var sum = new Checksum();
        foreach (ZipArchiveEntry entry in read.Entries.OrderBy(entry => entry.FullName, StringComparer.Ordinal))
        {
            using var reader = new StreamReader(entry.Open());
            sum.Add(entry.FullName);
            sum.Add(entry.Crc32);
            sum.Add(reader.ReadToEnd());
        }
        Console.WriteLine($"{read.Entries.Count} {sum}");
    }
}
