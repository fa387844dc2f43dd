using System.Buffers;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Freehold.Differential.Programs;

/// <summary>References into the middle of objects: ref structs with ref fields, ref locals that wander, unsafe arithmetic, memory managers and sequences.</summary>
internal static partial class ReferencesIntoObjects
{
    private ref struct Cursor<T>
    {
        private ref T _current;
        private readonly ref T _end;

        public Cursor(T[] items)
        {
            _current = ref MemoryMarshal.GetArrayDataReference(items);
            _end = ref Unsafe.Add(ref _current, items.Length);
        }

        public readonly bool IsAtEnd => !Unsafe.IsAddressLessThan(ref _current, ref _end);

        public readonly ref T Current => ref _current;

        public void Next() => _current = ref Unsafe.Add(ref _current, 1);

        public readonly long Left => Unsafe.ByteOffset(ref _current, ref _end) / Unsafe.SizeOf<T>();
    }

    private readonly ref struct Two<T>(ref T left, ref T right)
    {
        private readonly ref T _left = ref left;
        private readonly ref T _right = ref right;

        public void Swap() => (_left, _right) = (_right, _left);

        public bool AreSame => Unsafe.AreSame(ref _left, ref _right);
    }

    private sealed class Box
    {
        public long Before;
        public (string Name, int Count) Pair;
        public Box? Next;
    }

    private sealed class Wrapped(int[] items) : MemoryManager<int>
    {
        private GCHandle _handle;

        public int Pins { get; private set; }

        public override Span<int> GetSpan() => items;

        public override unsafe MemoryHandle Pin(int elementIndex = 0)
        {
            if (!_handle.IsAllocated)
                _handle = GCHandle.Alloc(items, GCHandleType.Pinned);
            Pins++;
            return new MemoryHandle((int*)_handle.AddrOfPinnedObject() + elementIndex, default, this);
        }

        public override void Unpin()
        {
            Pins--;
            _handle.Free();
        }

        protected override void Dispose(bool disposing)
        {
        }
    }

    private sealed class Segment : ReadOnlySequenceSegment<byte>
    {
        public Segment(byte[] bytes, Segment? before)
        {
            Memory = bytes;
            if (before is null)
                return;
            RunningIndex = before.RunningIndex + before.Memory.Length;
            before.Next = this;
        }
    }

    public static void Run()
    {
        Cursors();
        Wander();
        Managers();
        Sequences();
        Casts();
        Racing();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Churn(int size)
    {
        for (int i = 0; i < 5; i++)
            Manual.Delete(new byte[size + i]);
    }

    private static void Cursors()
    {
        var sum = new Checksum();
        for (int length = 0; length < 300; length += 7)
        {
            string[] texts = [.. Enumerable.Range(0, length).Select(i => "text " + i)];
            var cursor = new Cursor<string>(texts);
            while (!cursor.IsAtEnd)
            {
                Churn(200);
                cursor.Current += cursor.Left;
                sum.Add(cursor.Current);
                cursor.Next();
            }
            if (length > 2)
            {
                var two = new Two<string>(ref texts[0], ref texts[^1]);
                Churn(3_000);
                two.Swap();
                sum.Add(texts[0] + two.AreSame);
            }
        }
        Console.WriteLine(sum);
    }

    private static void Wander()
    {
        Box? list = null;
        for (int i = 0; i < 2_000; i++)
            list = new Box { Pair = ("box " + i, i), Next = list, Before = -i };
        ref Box? link = ref list;
        int removed = 0;
        // Removal through the link itself, as in C.
        while (link is not null)
        {
            ref int count = ref link.Pair.Count;
            Churn(100);
            count *= 3;
            if (count % 2 == 0)
            {
                Box gone = link;
                link = link.Next;
                Manual.Delete(gone);
                removed++;
            }
            else
            {
                link = ref link.Next;
            }
        }
        var sum = new Checksum();
        for (Box? box = list; box is not null; box = box.Next)
        {
            sum.Add(box.Pair.Name);
            sum.Add(box.Pair.Count + box.Before);
        }
        Console.WriteLine(removed + " " + sum);
    }

    private static void Managers()
    {
        var sum = new Checksum();
        for (int i = 1; i < 100; i++)
        {
            int[] items = [.. Enumerable.Range(i, 50)];
            var manager = new Wrapped(items);
            Memory<int> memory = manager.Memory[10..40];
            using (MemoryHandle handle = memory.Pin())
            {
                Churn(1_000);
                unsafe
                {
                    ((int*)handle.Pointer)[3] = -i;
                    sum.Add(((int*)handle.Pointer)[29] + manager.Pins);
                }
            }
            sum.Add(items[13] + manager.Pins + memory.Span.IndexOf(-i));
            Memory<char> text = new char[30];
            "text".AsSpan().CopyTo(text.Span);
            using MemoryHandle pinned = text.Pin();
            sum.Add(new string(text.Span[..4]) + MemoryMarshal.TryGetArray<char>(text, out ArraySegment<char> segment) + segment.Count);
            using MemoryHandle textHandle = "constant".AsMemory().Pin();
            unsafe
            {
                sum.Add((long)((char*)textHandle.Pointer)[2]);
            }
        }
        Console.WriteLine(sum);
    }

    private static void Sequences()
    {
        Segment? first = null, last = null;
        for (int i = 0; i < 200; i++)
        {
            last = new Segment([.. Enumerable.Range(i, i % 13).Select(n => (byte)n)], last);
            first ??= last;
        }
        var sequence = new ReadOnlySequence<byte>(first!, 0, last!, last!.Memory.Length);
        var reader = new SequenceReader<byte>(sequence);
        var sum = new Checksum();
        while (reader.TryReadTo(out ReadOnlySequence<byte> part, 20))
        {
            Churn(300);
            sum.Add(part.Length);
            foreach (ReadOnlyMemory<byte> memory in part)
                sum.Add(memory.Span);
        }
        sum.Add(reader.Consumed + reader.Remaining);
        var writer = new ArrayBufferWriter<byte>(1);
        foreach (ReadOnlyMemory<byte> memory in sequence)
            writer.Write(memory.Span);
        sum.Add(writer.WrittenSpan);
        Console.WriteLine(sum + " " + sequence.Length + " " + sequence.Slice(100, 50).ToArray().Sum(value => value));
    }

    private static void Casts()
    {
        var sum = new Checksum();
        object[] objects = [.. Enumerable.Range(0, 100).Select(i => (object)("object " + i))];
        string[] texts = Unsafe.As<string[]>(objects);
        ref string text = ref Unsafe.As<object, string>(ref objects[50]);
        Churn(5_000);
        sum.Add(text + texts[99]);
        Span<(int Number, string Text)> pairs = new (int, string)[64];
        for (int i = 0; i < pairs.Length; i++)
            pairs[i] = (i, "pair " + i);
        pairs[10..40].CopyTo(pairs[5..]);
        pairs.Slice(30, 20).Reverse();
        pairs.Sort((left, right) => right.Number.CompareTo(left.Number));
        foreach ((int number, string name) in pairs)
            sum.Add(name + number);
        Span<long> longs = stackalloc long[32];
        Span<byte> bytes = MemoryMarshal.AsBytes(longs);
        bytes.Fill(7);
        ref byte middle = ref Unsafe.AddByteOffset(ref MemoryMarshal.GetReference(bytes), 100);
        middle = 200;
        sum.Add(MemoryMarshal.Cast<byte, int>(bytes)[25] + longs[12]);
        var boxed = (object)(1, "boxed");
        ref (int, string) unboxed = ref Unsafe.Unbox<(int, string)>(boxed);
        Churn(10_000);
        unboxed.Item2 += " and changed";
        sum.Add(((ValueTuple<int, string>)boxed).Item2);
        Array grid = new string[4, 5];
        ref byte data = ref MemoryMarshal.GetArrayDataReference(grid);
        ref string cell = ref Unsafe.Add(ref Unsafe.As<byte, string>(ref data), 7);
        Churn(1_000);
        cell = "cell";
        sum.Add((string)grid.GetValue(1, 2)!);
        ReadOnlySpan<string> readOnly = MemoryMarshal.CreateReadOnlySpan(ref cell, 3);
        sum.Add(readOnly[0] + (readOnly[1] ?? "null"));
        Console.WriteLine(sum);
    }

    private static void Racing()
    {
        var boxes = new Box[16];
        for (int i = 0; i < boxes.Length; i++)
            boxes[i] = new Box();
        Parallel.For(0, 8, thread =>
        {
            for (int i = 0; i < 3_000; i++)
            {
                ref long before = ref boxes[(thread + i) % boxes.Length].Before;
                Manual.Delete(new byte[i % 300]);
                Interlocked.Increment(ref before);
                ref Box? next = ref boxes[thread].Next;
                Box made = new() { Before = i };
                Box? old = Interlocked.Exchange(ref next, made);
                if (old is not null)
                {
                    Interlocked.Add(ref Volatile.Read(ref boxes[thread])!.Pair.Count, (int)old.Before);
                    Manual.Delete(old);
                }
            }
        });
        Console.WriteLine(boxes.Sum(box => box.Before) + " " + boxes.Sum(box => (long)box.Pair.Count));
    }
}
