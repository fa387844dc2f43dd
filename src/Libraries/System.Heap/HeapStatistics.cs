using System.Buffers.Binary;
using System.Text;

namespace System;

/// <summary>Figures of the heap at one moment. Those that many threads change may be a few objects old.</summary>
public readonly struct HeapStatistics
{
    /// <summary>How many figures the native heap fills, in the order of the properties (src/Allocator/diag/statistics.h).</summary>
    internal const int Count = 57;

    private readonly nint _placeOfLongest;
    private readonly (ulong Start, ulong End) _threadOfLongest;

    internal HeapStatistics(ReadOnlySpan<ulong> values)
    {
        AllocatedBytes = (long)values[0];
        DeletedBytes = (long)values[1];
        ReleasedBytes = (long)values[2];
        ResidentBytes = (long)values[3];
        LivePages = (long)values[4];
        DeadPages = (long)values[5];
        FreshBlocks = (long)values[6];
        RecycledBlocks = (long)values[7];
        PooledBlocks = (long)values[8];
        LiveBlocks = (long)values[9];
        LargeObjects = (long)values[10];
        DanglingFaults = (long)values[11];
        DoubleDeletes = (long)values[12];
        Mappings = (long)values[13];
        Recounts = (long)values[14];
        AddressSpaceUsed = (long)values[15];
        UsesUserfaultfd = values[16] != 0;
        DeletedObjects = (long)values[17];
        PinnedBlocks = (long)values[18];
        PinStops = (long)values[19];
        LongestPinStop = TimeSpan.FromMicroseconds(values[20] / 1000.0);
        RepairedFaults = (long)values[22];
        RepairedSlots = (long)values[23];
        RepairedFields = (long)values[24];
        RepairedOperands = (long)values[25];
        RepairsWithoutField = (long)values[26];
        CompactionWaits = (long)values[27];
        CompactionRounds = (long)values[28];
        CompactedBlocks = (long)values[29];
        MovedObjects = (long)values[30];
        MovedBytes = (long)values[31];
        PatchedFields = (long)values[32];
        LongestEvacuation = TimeSpan.FromMicroseconds(values[33] / 1000.0);
        ForwardingBytes = (long)values[34];
        Sweeps = (long)values[35];
        SweptFields = (long)values[36];
        SweptRoots = (long)values[37];
        LongestSweepStop = TimeSpan.FromMicroseconds(values[38] / 1000.0);
        FrameWaits = (long)values[39];
        AddressSpaceReused = (long)values[40];
        ReclaimedObjects = (long)values[41];
        ReclaimedBytes = (long)values[42];
        LongestReclaimStop = TimeSpan.FromMicroseconds(values[43] / 1000.0);
        Stops = (long)values[44];
        LongestTimeToStop = TimeSpan.FromMicroseconds(values[45] / 1000.0);
        _placeOfLongest = (nint)values[46];
        _threadOfLongest = (values[47], values[48]);
        Native = new NativeHeapStatistics(values[49..]);
    }

    internal HeapStatistics(long allocatedBytes, long deletedBytes, long residentBytes, long doubleDeletes)
        : this(stackalloc ulong[Count])
    {
        AllocatedBytes = allocatedBytes;
        DeletedBytes = deletedBytes;
        ResidentBytes = residentBytes;
        DoubleDeletes = doubleDeletes;
    }

    /// <summary>Bytes allocated since the start of the process.</summary>
    public long AllocatedBytes { get; }

    /// <summary>Bytes of deleted objects since the start of the process.</summary>
    public long DeletedBytes { get; }

    /// <summary>Objects deleted since the start of the process.</summary>
    public long DeletedObjects { get; }

    /// <summary>Bytes of dead pages that were given back to the system or recycled, since the start of the process.</summary>
    public long ReleasedBytes { get; }

    /// <summary>Physical memory that the heap holds now, in bytes, spare blocks included.</summary>
    public long ResidentBytes { get; }

    /// <summary>Pages of 4 KB in use by objects, whether alive or deleted on a page that also holds others.</summary>
    public long LivePages { get; }

    /// <summary>Pages whose objects are all deleted and whose memory still belongs to a block in use.</summary>
    public long DeadPages { get; }

    /// <summary>Blocks of 2 MB that were taken from the system.</summary>
    public long FreshBlocks { get; }

    /// <summary>Blocks of 2 MB that reused the memory of dead ones.</summary>
    public long RecycledBlocks { get; }

    /// <summary>Dead blocks of 2 MB kept for the next allocations.</summary>
    public long PooledBlocks { get; }

    /// <summary>Blocks of 2 MB that hold objects.</summary>
    public long LiveBlocks { get; }

    /// <summary>Objects larger than 32 KB that are alive.</summary>
    public long LargeObjects { get; }

    /// <summary>Uses of deleted objects that ended in a <see cref="DanglingReferenceException"/> by a page fault.</summary>
    public long DanglingFaults { get; }

    /// <summary>Dead blocks of 2 MB and dead large objects that keep their memory, since something in them was pinned when they died.</summary>
    public long PinnedBlocks { get; }

    /// <summary>How often the threads were stopped to find out what is still pinned: when dead memory, or memory to be promoted, waits for that.</summary>
    public long PinStops { get; }

    /// <summary>The longest of these stops.</summary>
    public TimeSpan LongestPinStop { get; }

    /// <summary>Rounds of compaction.</summary>
    public long CompactionRounds { get; }

    /// <summary>Blocks of 2 MB that compaction emptied.</summary>
    public long CompactedBlocks { get; }

    /// <summary>Objects that compaction moved, each time counted.</summary>
    public long MovedObjects { get; }

    /// <summary>Their bytes.</summary>
    public long MovedBytes { get; }

    /// <summary>Fields that compaction made current itself, so that nobody faults on them.</summary>
    public long PatchedFields { get; }

    /// <summary>The longest time that a block could not be written to while its objects were copied: a thread that stores to it waits that long at most.</summary>
    public TimeSpan LongestEvacuation { get; }

    /// <summary>Bytes of the tables that say where moved objects are. A sweep makes them superfluous.</summary>
    public long ForwardingBytes { get; }

    /// <summary>Sweeps (de-dangling): each made every reference in the process current, so that the tables of earlier rounds could go.</summary>
    public long Sweeps { get; }

    /// <summary>Fields that sweeps made current.</summary>
    public long SweptFields { get; }

    /// <summary>References on stacks, in thread statics and in handles that sweeps made current.</summary>
    public long SweptRoots { get; }

    /// <summary>The longest stop of all threads for a sweep; each sweep makes two.</summary>
    public TimeSpan LongestSweepStop { get; }

    /// <summary>Uses of an object under an address that it had before it was moved: each cost a page fault, was repaired, and went on.</summary>
    public long RepairedFaults { get; }

    /// <summary>References in registers and on stacks that these repairs made current.</summary>
    public long RepairedSlots { get; }

    /// <summary>Fields of objects that these repairs made current, so that nobody faults on them again.</summary>
    public long RepairedFields { get; }

    /// <summary>Repairs that changed a register that no reference map names, by the instruction's own operand: native code, runtime helpers.</summary>
    public long RepairedOperands { get; }

    /// <summary>Repairs that found no stale field to make current: the next reader of the same field may fault again.</summary>
    public long RepairsWithoutField { get; }

    /// <summary>Stores that waited until the block they lead to was compacted: some hundred microseconds each.</summary>
    public long CompactionWaits { get; }

    /// <summary>Allocations that waited for memory from compaction, because it was behind: a millisecond each at most.</summary>
    public long FrameWaits { get; }

    /// <summary>Deletions that found an object deleted before.</summary>
    public long DoubleDeletes { get; }

    /// <summary>An upper bound of the kernel mappings that the heap needs now; Linux allows 65,530 by default.</summary>
    public long Mappings { get; }

    /// <summary>How often the counters of a page were corrected from its objects.</summary>
    public long Recounts { get; }

    /// <summary>
    /// Bytes of address space used until now. A deleted address is used again only when few unused ones are left, and nothing in the process refers to it.
    /// </summary>
    public long AddressSpaceUsed { get; }

    /// <summary>Bytes of address space that were taken into use again: 32 MB at a time, each counted as often as that happened.</summary>
    public long AddressSpaceReused { get; }

    /// <summary>Objects deleted because no root reached them (<see cref="Heap.Reclaim"/>, FREEHOLD_RECLAIM), part of <see cref="DeletedObjects"/>.</summary>
    public long ReclaimedObjects { get; }

    /// <summary>Their bytes, part of <see cref="DeletedBytes"/>.</summary>
    public long ReclaimedBytes { get; }

    /// <summary>The longest that threads were stopped for a search of what no root reaches (<see cref="Heap.FindUnreachable"/> too).</summary>
    public TimeSpan LongestReclaimStop { get; }

    /// <summary>How often the threads were stopped, for whatever.</summary>
    public long Stops { get; }

    /// <summary>
    /// The longest time from a request to stop until all threads stood: others wait that long, and then for the work of the stop. It is long where a thread
    /// runs code without a safe point, or does not get a processor.
    /// </summary>
    public TimeSpan LongestTimeToStop { get; }

    /// <summary>
    /// Which thread the stop of <see cref="LongestTimeToStop"/> waited for last, and the method in which its managed code then stood, as a stack trace names it. Empty
    /// when all threads stood at once.
    /// </summary>
    public string HeldUpBy
    {
        get
        {
            if (_placeOfLongest == 0)
            {
                return "";
            }

            Span<byte> name = stackalloc byte[2 * sizeof(ulong)];
            BinaryPrimitives.WriteUInt64LittleEndian(name, _threadOfLongest.Start);
            BinaryPrimitives.WriteUInt64LittleEndian(name[sizeof(ulong)..], _threadOfLongest.End);
            int end = name.IndexOf((byte)0);
            return $"{Encoding.UTF8.GetString(end < 0 ? name : name[..end])}{ObjectHistory.DescribeFrame(_placeOfLongest)}";
        }
    }

    /// <summary>Figures of malloc, in a program published with <c>FreeholdNativeHeap=mesh</c>; zeros in others.</summary>
    public NativeHeapStatistics Native { get; }

    /// <summary>Whether dead pages are watched with userfaultfd (otherwise with mprotect).</summary>
    public bool UsesUserfaultfd { get; }
}
