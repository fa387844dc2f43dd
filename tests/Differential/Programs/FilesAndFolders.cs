using System.IO.MemoryMappedFiles;
using System.Text;

namespace Freehold.Differential.Programs;

/// <summary>Files and folders: writing, enumerating, moving, mapping, watching sizes, errors.</summary>
internal static partial class FilesAndFolders
{
    public static void Run()
    {
        string root = Directory.CreateTempSubdirectory("freehold-").FullName;
        try
        {
            for (int i = 0; i < 120; i++)
            {
                string folder = Directory.CreateDirectory(Path.Combine(root, "d" + i % 7, "e" + i % 3)).FullName;
                File.WriteAllText(Path.Combine(folder, i + (i % 2 == 0 ? ".txt" : ".bin")), string.Concat(Enumerable.Repeat("content " + i + "\n", i)));
            }
            string[] files = [.. Directory.EnumerateFiles(root, "*.txt", SearchOption.AllDirectories).Select(path => Path.GetRelativePath(root, path)).Order(StringComparer.Ordinal)];
            Console.WriteLine(files.Length + " " + files[5] + " " + Directory.GetDirectories(root, "*", SearchOption.AllDirectories).Length);
            var sum = new Checksum();
            foreach (string file in files)
            {
                foreach (string line in File.ReadLines(Path.Combine(root, file)))
                    sum.Add(line);
                sum.Add(new FileInfo(Path.Combine(root, file)).Length);
            }
            Console.WriteLine(sum);
            string big = Path.Combine(root, "big.dat");
            byte[] data = new byte[300_000];
            new Random(16).NextBytes(data);
            using (FileStream stream = new(big, FileMode.CreateNew, FileAccess.ReadWrite, FileShare.None, 4_096, FileOptions.Asynchronous))
            {
                stream.WriteAsync(data).AsTask().Wait();
                stream.Seek(-1_000, SeekOrigin.End);
                byte[] tail = new byte[1_000];
                stream.ReadExactly(tail);
                Console.WriteLine(tail.AsSpan().SequenceEqual(data.AsSpan(^1_000..)) + " " + stream.Length);
                stream.SetLength(250_000);
            }
            using (MemoryMappedFile map = MemoryMappedFile.CreateFromFile(big))
            using (MemoryMappedViewAccessor view = map.CreateViewAccessor())
            {
                long total = 0;
                for (int i = 0; i < 250_000; i += 8)
                    total ^= view.ReadInt64(i);
                view.Write(0, 0x0102030405060708L);
                Console.WriteLine(total.ToString("x"));
            }
            using (Microsoft.Win32.SafeHandles.SafeFileHandle handle = File.OpenHandle(big))
            {
                byte[] one = new byte[8], two = new byte[100];
                long read = RandomAccess.Read(handle, [one, two], 0);
                Console.WriteLine(read + " " + one[0] + " " + two.AsSpan().SequenceEqual(data.AsSpan(8, 100)));
            }
            File.Move(big, big + ".moved");
            File.Copy(big + ".moved", Path.Combine(root, "copy"));
            File.AppendAllLines(Path.Combine(root, "copy"), ["one", "two"], Encoding.UTF8);
            Console.WriteLine(new FileInfo(Path.Combine(root, "copy")).Length + " " + File.Exists(big));
            foreach (Action action in new Action[] { () => File.ReadAllBytes(big), () => File.ReadAllText(Path.Combine(root, "no", "such")), () => Directory.Delete(root), () => File.OpenRead(root) })
            {
                try
                {
                    action();
                    Console.WriteLine("no error");
                }
                catch (Exception exception)
                {
                    Console.WriteLine(exception.GetType().Name);
                }
            }
            Console.WriteLine(Path.GetFullPath("/a/./b/../c") + " " + Path.ChangeExtension("f.tar.gz", "zip") + " " + Path.Join("x", "/y"));
        }
        finally
        {
            Directory.Delete(root, recursive: true);
        }
        Console.WriteLine(Directory.Exists(root));
    }
}
