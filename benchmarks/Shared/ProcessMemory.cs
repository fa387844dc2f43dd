namespace Freehold.Benchmarks;

/// <summary>What Linux says about this process's memory. Reads without garbage but for the file handle.</summary>
internal static class ProcessMemory
{
    /// <summary>Resident bytes, exact (the counters of statm lag behind).</summary>
    public static long Resident => Kilobytes("/proc/self/smaps_rollup", "Rss:"u8);

    /// <summary>Resident bytes, of shared pages the share of this process. The walk of the page tables holds up those who map.</summary>
    public static long Proportional => Kilobytes("/proc/self/smaps_rollup", "Pss:"u8);

    /// <summary>Highest resident bytes since the start.</summary>
    public static long PeakResident => Kilobytes("/proc/self/status", "VmHWM:"u8);

    /// <summary>Bytes of the kernel's page tables for this process.</summary>
    public static long PageTables => Kilobytes("/proc/self/status", "VmPTE:"u8);

    /// <summary>Number of mappings, which Linux limits to vm.max_map_count.</summary>
    public static int Mappings
    {
        get
        {
            Span<byte> buffer = stackalloc byte[4096];
            using var file = File.OpenHandle("/proc/self/maps");
            var count = 0;
            long offset = 0;
            while (true)
            {
                var length = RandomAccess.Read(file, buffer, offset);
                if (length == 0)
                {
                    return count;
                }

                count += buffer[..length].Count((byte)'\n');
                offset += length;
            }
        }
    }

    private static long Kilobytes(string path, ReadOnlySpan<byte> label)
    {
        Span<byte> buffer = stackalloc byte[4096];
        using var file = File.OpenHandle(path);
        var text = buffer[..RandomAccess.Read(file, buffer, 0)];
        text = text[(text.IndexOf(label) + label.Length)..].TrimStart(" \t"u8);
        long number = 0;
        foreach (var b in text[..text.IndexOf((byte)' ')])
        {
            number = (number * 10) + (b - '0');
        }

        return number * 1024;
    }
}
