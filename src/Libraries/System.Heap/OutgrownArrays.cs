using System.Runtime;
using System.Runtime.InteropServices;
using System.Threading;

namespace System;

/// <summary>
/// Arrays that a collection of the framework has outgrown: they are noted here, and deleted together when they are many bytes, but for those that a stack still leads to (heap/outgrown_arrays.h).
/// Any thread. What cannot be noted is left to reclaim: nothing here waits for a lock, which a thread that a fork has lost may hold.
/// </summary>
internal static class OutgrownArrays
{
    // A smaller one costs more to note than it gives.
    private const int LeastBytes = 256;
    private const int FirstBytes = 1 << 16;
    private const int FirstRoom = 64;
    private const int Stripes = 16;
    private const int Spins = 64;

    private static Stripe?[]? s_stripes;
    private static bool s_keeps;

    /// <summary>
    /// The program reads private fields of collections, or clones them: an old array may be anywhere. By module initializers, and by reflection, whose caller has an array that is current
    /// or that its stack leads to until it returns.
    /// </summary>
    [RuntimeExport("FreeholdKeepOutgrown")]
    internal static void Keep() => s_keeps = true;

    /// <summary>A collection has <paramref name="current"/> where it had <paramref name="old"/>. Called by what the rewriter adds to their methods.</summary>
    /// <remarks>Not in a scope: its end deletes what was made in it, which a note would keep, and what is older is left to reclaim.</remarks>
    [RuntimeExport("FreeholdOutgrown")]
    internal static void Note(Array? old, Array? current, int elementSize)
    {
        if (old is not null && (long)old.Length * elementSize >= LeastBytes && !s_keeps && old != current && NativeHeap.HasScope() == 0)
        {
            Note(old, (long)old.Length * elementSize);
        }
    }

    /// <summary>Deletes what is noted and no stack leads to.</summary>
    internal static void DeleteAll()
    {
        foreach (Stripe? stripe in s_stripes ?? [])
        {
            if (stripe is not null && !s_keeps && TryEnter(stripe))
            {
                Noted noted = stripe.Take();
                Volatile.Write(ref stripe.Lock, 0);
                Delete(stripe, noted, atAnyPrice: true);
            }
        }
    }

    private static void Note(Array old, long bytes)
    {
        try
        {
            Stripe stripe = StripeOfThread();
            if (!TryEnter(stripe))
            {
                return;
            }

            Noted noted = default;
            try
            {
                stripe.Add(old, bytes);
                if (stripe.Bytes >= stripe.Limit)
                {
                    noted = stripe.Take();
                }
            }
            finally
            {
                Volatile.Write(ref stripe.Lock, 0);
            }

            Delete(stripe, noted, atAnyPrice: false);
        }
        catch (OutOfMemoryException)
        {
            // Left to reclaim.
        }
    }

    private static unsafe void Delete(Stripe stripe, Noted noted, bool atAnyPrice)
    {
        if (noted.Count == 0)
        {
            return;
        }

        object?[] arrays = noted.Arrays!;
        OutgrownEntry entry = new() { Bytes = noted.Bytes };
#pragma warning disable CS8500 // the address of a reference on the stack, which the runtime keeps current
        NativeHeap.DeleteOutgrown(&arrays, noted.Count, atAnyPrice ? 1 : 0, &entry);
#pragma warning restore CS8500
        if (TryEnter(stripe))
        {
            try
            {
                stripe.Limit = entry.NextBytes;
                for (int i = 0; i < noted.Count; i++)
                {
                    if (arrays[i] is { } kept)
                    {
                        stripe.Add(kept, 0);
                    }
                }

                stripe.Bytes += entry.Bytes;
            }
            catch (OutOfMemoryException)
            {
                // Left to reclaim.
            }
            finally
            {
                Volatile.Write(ref stripe.Lock, 0);
            }
        }

        Array.Clear(arrays, 0, noted.Count);
        NativeHeap.Delete(arrays);
    }

    private static Stripe StripeOfThread()
    {
        Stripe?[] stripes = s_stripes ?? Interlocked.CompareExchange(ref s_stripes, new Stripe?[Stripes], null) ?? s_stripes;
        ref Stripe? stripe = ref stripes[Environment.CurrentManagedThreadId % Stripes];
        return stripe ?? Interlocked.CompareExchange(ref stripe, new Stripe(), null) ?? stripe;
    }

    private static bool TryEnter(Stripe stripe)
    {
        for (int spin = 0; spin < Spins; spin++)
        {
            if (Interlocked.CompareExchange(ref stripe.Lock, 1, 0) == 0)
            {
                return true;
            }

            Thread.SpinWait(spin);
        }

        return false;
    }

    private sealed class Stripe
    {
        // 1 while a thread has the fields below.
        internal int Lock;
        internal long Bytes;
        internal long Limit = FirstBytes;

        // Weak: a reclaim deletes what is noted, as nothing else leads to it, and the notes with it.
        private readonly GCHandle _arrays = GCHandle.Alloc(null, GCHandleType.Weak);
        private int _count;

        internal void Add(object array, long bytes)
        {
            object?[]? arrays = (object?[]?)_arrays.Target;
            if (arrays is null)
            {
                Bytes = 0;
                _count = 0;
            }

            if (arrays is null || _count == arrays.Length)
            {
                object?[]? full = arrays;
                arrays = new object?[Math.Max(FirstRoom, _count * 2)];
                full?.AsSpan(0, _count).CopyTo(arrays);
                SetTarget(arrays);
                NativeHeap.Delete(full);
            }

            arrays[_count++] = array;
            Bytes += bytes;
        }

        // Whoever asks has them.
        internal Noted Take()
        {
            object?[]? arrays = (object?[]?)_arrays.Target;
            Noted noted = arrays is null ? default : new(arrays, _count, Bytes);
            SetTarget(null);
            Bytes = 0;
            _count = 0;
            return noted;
        }

        private void SetTarget(object?[]? arrays)
        {
            GCHandle handle = _arrays;
            handle.Target = arrays;
        }
    }

    private readonly record struct Noted(object?[]? Arrays, int Count, long Bytes);
}
