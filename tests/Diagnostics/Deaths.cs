using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Freehold.Diagnostics;

/// <summary>Objects whose deaths are known: what `freehold deaths` has to say of each is known too. Nothing is deleted here.</summary>
internal static class Deaths
{
    private static readonly List<LivesOn> s_kept = [];
    private static readonly Node?[] s_first = new Node?[64];
    private static readonly Node?[] s_second = new Node?[64];
    private static readonly Lent?[] s_pool = new Lent?[8];
    private static readonly Options s_default = new(-1);
    private static readonly Settings s_standard = new(-1);
    private static Request? s_request;
    private static int s_pooled;
    private static Replaced? s_replaced;
    private static long s_sum;

    public static void Run() => Run(30_000);

    /// <summary>Where each round takes longer.</summary>
    public static void RunShort() => Run(10_000);

    private static void Run(int rounds)
    {
        for (int i = 0; i < rounds; i++)
        {
            s_sum += Temporaries(i);
            Replace(i);
            if (i % 50 == 0)
            {
                s_sum += Hold(i);
                s_sum += Visit(i);
            }

            Own(i);
            s_sum += Take(i);
            Share(i);
            Configure(i);
            if (i % 100 == 0)
            {
                Ask(i / 100);
            }

            if (i % 50 == 0)
            {
                Lend(i / 50);
            }

            if (i % 10 == 0)
            {
                s_kept.Add(new LivesOn());
            }
        }

        GC.KeepAlive(s_sum);
    }

    /// <summary>The same without an end, until the process is ended from outside.</summary>
    public static void RunForEver()
    {
        Console.WriteLine("ready");
        while (true)
        {
            Run();
        }
    }

    /// <summary>A child of a fork goes on, allocates and exits first: the file is its parent's.</summary>
    public static unsafe void Fork()
    {
        RunShort();
        int child = ForkProcess();
        RunShort();
        if (child == 0)
        {
            Exit(0);
        }
        else
        {
            int status;
            if (Wait(child, &status, 0) != child || status != 0)
            {
                throw new InvalidOperationException($"the child ended with {status}");
            }
        }
    }

    [DllImport("libc", EntryPoint = "fork")]
    private static extern int ForkProcess();

    [DllImport("libc", EntryPoint = "exit")]
    private static extern void Exit(int status);

    [DllImport("libc", EntryPoint = "waitpid")]
    private static extern unsafe int Wait(int child, int* status, int options);

    // Dead when it returns, or before.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Temporaries(int i)
    {
        int sum = 0;
        for (int j = 0; j < 8; j++)
        {
            sum += Use(new Temporary(i, Fill(j)));
        }

        return sum;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static byte[] Fill(int j) => new byte[400 + j];

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Use(Temporary temporary) => temporary.Number + temporary.Content.Length;

    // A local has it while others are allocated.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Hold(int i)
    {
        var held = new Held(i);
        int sum = 0;
        for (int j = 0; j < 1_000; j++)
        {
            sum += Fill(j % 8).Length;
        }

        return sum + held.Number;
    }

    // The child leads back to it: the field of the child is no owner, as the local has it too.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Visit(int i)
    {
        var parent = new Parent(i);
        parent.Kid = new Kid(parent);
        int sum = 0;
        for (int j = 0; j < 1_000; j++)
        {
            sum += Fill(j % 8).Length;
        }

        return sum + parent.Number;
    }

    // Half of them have one of their own, the others all the same one, which is allocated once: nobody samples that.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Configure(int i) => Items.All[i % Items.All.Length] = new Item(i % 2 == 0 ? new Options(i) : s_default);

    // Likewise, but only one of them is there at a time: the standard settings are in no two fields of requests at once.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Ask(int i) => s_request = new Request(i % 4 == 0 ? s_standard : new Settings(i));

    // Its finalizer keeps what it has.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Lend(int i) => Lenders.All[i % Lenders.All.Length] = new Lender(new Lent(i));

    // A static has it until the next one comes.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Replace(int i)
    {
        if (i % 50 == 0)
        {
            s_replaced = new Replaced(i);
        }
    }

    // A child of an owner, which the first of two arrays has for 64 rounds.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Own(int i) => Owners.All[i % Owners.All.Length] = new Owner(new Child(i));

    // A box hands out what it has, and gets another one: what it had is used then, and nothing is allocated meanwhile.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Take(int i)
    {
        Box box = Boxes.All[i % Boxes.All.Length];
        var next = new Job(i);
        Job job = box.Job;
        box.Job = next;
        return job.Number;
    }

    // Two arrays have it.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Share(int i) => s_first[i % 64] = s_second[i % 64] = new Node(i);

    private static class Items
    {
        public static readonly Item?[] All = new Item?[512];
    }

    private static class Lenders
    {
        public static readonly Lender?[] All = new Lender?[4];
    }

    private static class Boxes
    {
        public static readonly Box[] All = [.. Enumerable.Range(0, 512).Select(i => new Box(new Job(i)))];
    }

    private static class Owners
    {
        public static readonly Owner?[] All = new Owner?[512];
    }

#pragma warning disable CS0169 // never used: they are there for their size, so that samples meet their objects

    private sealed class Temporary(int number, byte[] content)
    {
        private Few _few;

        public int Number => number;

        public byte[] Content => content;
    }

    private sealed class Held(int number)
    {
        private Block _block;

        public int Number => number;
    }

    private sealed class Replaced(int number)
    {
        private readonly byte[] _some = new byte[100];

        public int Number => number + _some.Length;

        private Block _block;
    }

    [InlineArray(25_000)]
    private struct Block
    {
        private long _first;
    }

    private sealed class Owner(Child child)
    {
        public Child Child => child;
    }

    private sealed class Child(int number)
    {
        private Small _small;

        public int Number => number;
    }

    [InlineArray(25)]
    private struct Few
    {
        private long _first;
    }

    [InlineArray(200)]
    private struct Small
    {
        private long _first;
    }

    private sealed class Box(Job job)
    {
        public Job Job { get; set; } = job;
    }

    private sealed class Job(int number)
    {
        private Small _small;

        public int Number => number;
    }

    private sealed class Parent(int number)
    {
        private Block _block;

        public Kid? Kid { get; set; }

        public int Number => number + (Kid?.Parent == this ? 1 : 0);
    }

    private sealed class Kid(Parent parent)
    {
        public Parent Parent => parent;
    }

    private sealed class Item(Options options)
    {
        public Options Options => options;
    }

    private sealed class Options(int number)
    {
        private Small _small;

        public int Number => number;
    }

    private sealed class Request(Settings settings)
    {
        public Settings Settings => settings;
    }

    private sealed class Settings(int number)
    {
        private Block _block;

        public int Number => number;
    }

    private sealed class Lender(Lent lent)
    {
        ~Lender() => s_pool[s_pooled++ % s_pool.Length] = lent;
    }

    private sealed class Lent(int number)
    {
        private Block _block;

        public int Number => number;
    }

    private sealed class Node(int number)
    {
        private Small _small;

        public int Number => number;
    }

    private sealed class LivesOn
    {
        private Small _small;
    }
}
