using System.Runtime.InteropServices;

namespace Freehold.Differential.Programs;

/// <summary>Pinned handles, fixed statements and pinned arrays, read through raw pointers.</summary>
internal static partial class PinnedHandles
{
    public static unsafe void Run()
    {
        var handles = new List<(GCHandle Handle, byte[] Array)>();
        for (int i = 0; i < 500; i++)
        {
            byte[] array = new byte[i * 13 + 1];
            new Random(i).NextBytes(array);
            handles.Add((GCHandle.Alloc(array, GCHandleType.Pinned), array));
        }
        GC.Collect();
        var sum = new Checksum();
        foreach ((GCHandle handle, byte[] array) in handles)
        {
            byte* pointer = (byte*)handle.AddrOfPinnedObject();
            for (int i = 0; i < array.Length; i++)
                pointer[i] ^= 0x33;
            sum.Add(new ReadOnlySpan<byte>(pointer, array.Length));
            sum.Add(array[^1]);
        }
        Console.WriteLine(sum);
        foreach ((GCHandle handle, _) in handles)
            handle.Free();
        long total = 0;
        for (int i = 0; i < 3_000; i++)
        {
            string text = "pinned text " + i;
            int[] numbers = [i, i + 1, i + 2];
            fixed (char* characters = text)
            fixed (int* values = numbers)
            {
                for (char* at = characters; *at != 0; at++)
                    total += *at;
                values[1] += values[0];
                if (i % 100 == 0)
                    GC.Collect(0);
                total += numbers[1];
            }
        }
        Console.WriteLine(total);
        double[] pinned = GC.AllocateArray<double>(1_000, pinned: true);
        double* raw = (double*)Marshal.UnsafeAddrOfPinnedArrayElement(pinned, 0);
        for (int i = 0; i < 1_000; i++)
            raw[i] = i / 4.0;
        Console.WriteLine(pinned.Sum() + " " + GC.AllocateUninitializedArray<byte>(5_000).Length);
        try
        {
            GCHandle.Alloc(new object[] { "x" }, GCHandleType.Pinned);
        }
        catch (ArgumentException)
        {
            Console.WriteLine("not blittable");
        }
        using System.Buffers.MemoryHandle memory = new Memory<int>([4, 5, 6]).Slice(1).Pin();
        Console.WriteLine(*(int*)memory.Pointer);
    }
}
