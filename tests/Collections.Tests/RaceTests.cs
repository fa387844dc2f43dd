using Xunit;

namespace Freehold.Collections.Tests;

/// <summary>A program that breaks the rule for threads gets a wrong element or an exception, and never what lies outside of a leaf.</summary>
public sealed class RaceTests
{
    // What a race of two removals can leave.
    [Fact]
    public void ANegativeNumberOfElementsIsNone()
    {
        var list = new TreeList<long>(Enumerable.Range(0, 10_000).Select(i => (long)i));
        typeof(TreeSequence<long>).GetProperty(nameof(list.Count))!.GetSetMethod(nonPublic: true)!.Invoke(list, [-1]);
        Assert.Throws<ArgumentOutOfRangeException>(() => list.Cursor().Current);
        Assert.Throws<ArgumentOutOfRangeException>(() => list.Cursor(9_999).Current);
        Assert.Throws<ArgumentOutOfRangeException>(() => list.Cursor(-1).Current);
        foreach (long element in list)
        {
            Assert.Fail("an element");
        }

        foreach (Span<long> chunk in list.Chunks)
        {
            Assert.Fail("a span");
        }
    }

    [Fact]
    public void AReaderOfAListThatAnotherThreadChangesReadsElementsOrGetsAnException()
    {
        const long Mark = 0x5A5A5A5A5A5A5A5A;
        var list = new TreeList<long>();
        bool done = false;
        long wrong = 0;
        Thread[] readers = [.. Enumerable.Range(0, 2).Select(seed => new Thread(() =>
        {
            var random = new Random(seed);
            while (!Volatile.Read(ref done))
            {
                try
                {
                    int count = list.Count;
                    long element = count == 0 ? 0 : list[random.Next(count)];
                    TreeCursor<long> cursor = list.Cursor(random.Next(count + 1));
                    element = element == 0 ? cursor.Current : element;
                    foreach (long one in list)
                    {
                        element |= one;
                    }

                    if (element != 0 && element != Mark)
                    {
                        Interlocked.Increment(ref wrong);
                    }
                }
                catch (Exception exception) when (exception is ArgumentOutOfRangeException or IndexOutOfRangeException or InvalidOperationException or NullReferenceException)
                {
                }
            }
        }))];
        foreach (Thread reader in readers)
        {
            reader.Start();
        }

        var items = new long[100_000];
        Array.Fill(items, Mark);
        for (int round = 0; round < 300; round++)
        {
            list.AddRange(items.AsSpan(0, 1 + (round * 331 % items.Length)));
            list.RemoveRange(round % list.Count, list.Count - (round % list.Count));
            list.TrimExcess();
        }

        Volatile.Write(ref done, true);
        foreach (Thread reader in readers)
        {
            reader.Join();
        }

        Assert.Equal(0, wrong);
    }
}
