using Xunit;

namespace Freehold.Collections.Tests;

/// <summary>Enumerators, cursors, chunks and slices: what they see, and what they throw.</summary>
public sealed class ViewTests
{
    [Fact]
    public void AnEnumerationSeesChanges()
    {
        foreach (Action<TreeList<int>> change in (Action<TreeList<int>>[])
            [list => list.Add(1), list => list.Insert(0, 1), list => list.RemoveAt(0), list => list.Clear(),
            list => list.Sort(), list => list.Reverse(), list => list.AddRange([1]), list => ((IList<int>)list)[0] = 1])
        {
            var list = new TreeList<int>(Enumerable.Range(0, 10_000));
            Assert.Throws<InvalidOperationException>(() =>
            {
                int seen = 0;
                foreach (int item in list)
                {
                    // At the very next step, as with List<T>.
                    Assert.Equal(1, ++seen);
                    change(list);
                }
            });
            list.AddRange([1, 2]);
            Assert.Throws<InvalidOperationException>(() =>
            {
                foreach (int item in list.AsEnumerable())
                {
                    change(list);
                }
            });
            list.AddRange([1, 2]);
            using (IEnumerator<int> begun = list.AsEnumerable().GetEnumerator())
            {
                change(list);
                Assert.Throws<InvalidOperationException>(() => begun.MoveNext());
            }

            list.AddRange([1, 2]);
            Assert.Throws<InvalidOperationException>(() =>
            {
                foreach (Span<int> chunk in list.Chunks)
                {
                    change(list);
                }
            });
        }
    }

    [Fact]
    public void AnEnumerationOfAnArraySeesThatItWasResized()
    {
        var array = new TreeArray<int>(10_000);
        Assert.Throws<InvalidOperationException>(() =>
        {
            foreach (int item in array)
            {
                array.Resize(20_000);
            }
        });
    }

    [Fact]
    public void WritingElementsIsNoChange()
    {
        var list = new TreeList<int>(Enumerable.Range(0, 10_000));
        int index = 0;
        foreach (ref int item in list)
        {
            item += 1;
            list[index++] += 1;
        }

        Assert.Equal(Enumerable.Range(2, 10_000), list);
    }

    [Fact]
    public void EmptyOnesHaveNothing()
    {
        foreach (int item in new TreeList<int>())
        {
            Assert.Fail("an element");
        }

        foreach (int item in default(TreeSlice<int>))
        {
            Assert.Fail("an element");
        }

        foreach (Span<int> chunk in default(TreeChunks<int>))
        {
            Assert.Fail("a span");
        }

        foreach (Span<int> chunk in default(TreeSlice<int>).Chunks)
        {
            Assert.Fail("a span");
        }

        Assert.Equal(0, default(TreeChunks<int>).Count);
        Assert.Equal(0, new TreeArray<int>(0).Chunks.Count);
        Assert.Empty(default(TreeSlice<int>).ToArray());
        Assert.Equal(-1, new TreeList<int>().IndexOf(0));
        Assert.Equal(~0, new TreeList<int>().BinarySearch(0));
        TreeListEnumerator<int> enumerator = new TreeList<int>().GetEnumerator();
        Assert.False(enumerator.MoveNext());
        Assert.False(enumerator.MoveNext());
    }

    [Fact]
    public void AnEnumerationThatHasEndedStaysAtItsEnd()
    {
        foreach (int count in (int[])[0, 1, 4095, 4096, 4097, 10_000])
        {
            TreeListEnumerator<int> list = new TreeList<int>(Enumerable.Range(0, count)).GetEnumerator();
            TreeArrayEnumerator<int> array = new TreeArray<int>([.. Enumerable.Range(0, count)]).GetEnumerator();
            int seen = 0;
            while (list.MoveNext() & array.MoveNext())
            {
                Assert.Equal(seen, list.Current);
                Assert.Equal(seen++, array.Current);
            }

            Assert.Equal(count, seen);
            for (int i = 0; i < 3; i++)
            {
                Assert.False(list.MoveNext());
                Assert.False(array.MoveNext());
            }
        }
    }

    [Fact]
    public void CurrentBeforeTheFirstStepIsNoElement()
    {
        Assert.Throws<NullReferenceException>(() => new TreeArray<int>(5).GetEnumerator().Current);
        Assert.Throws<NullReferenceException>(() => new TreeList<int>(5).GetEnumerator().Current);
    }

    [Fact]
    public void ACursorGoesBothWaysAndChecksItsPlace()
    {
        var array = new TreeArray<int>([.. Enumerable.Range(0, 10_000)]);
        TreeCursor<int> cursor = array.Cursor(9_990);
        Assert.Equal(9_990, cursor.Current);
        Assert.True(cursor.TryMove(9));
        Assert.False(cursor.TryMove());
        Assert.False(cursor.TryMove(int.MaxValue));
        Assert.False(cursor.TryMove(-10_000));
        Assert.Equal(9_999, cursor.Current);
        Assert.True(cursor.TryMove(-9_999));
        Assert.Equal(0, cursor.Current);
        cursor[5_000] = -1;
        Assert.Equal(-1, array[5_000]);
        Assert.Throws<ArgumentOutOfRangeException>(() => array.Cursor(10_000).Current);
        Assert.Throws<ArgumentOutOfRangeException>(() => array.Cursor()[-1]);
        Assert.Throws<ArgumentOutOfRangeException>(() =>
        {
            // Also behind a leaf that it remembers, whose memory goes on.
            TreeCursor<int> other = array.Cursor();
            return other[9_999] + other[10_000];
        });
    }

    [Fact]
    public void ChunksByNumberAreThoseOfTheEnumeration()
    {
        var array = new TreeArray<int>([.. Enumerable.Range(0, 20_000)]);
        for (int begin = 0; begin < 9_000; begin += 1_000)
        {
            TreeSlice<int> slice = array[begin..^begin];
            int number = 0, index = begin;
            foreach (Span<int> chunk in slice.Chunks)
            {
                Assert.True(slice.Chunks[number++] == chunk);
                Assert.Equal(index, chunk[0]);
                index += chunk.Length;
            }

            Assert.Equal(number, slice.Chunks.Count);
            Assert.Equal(20_000 - begin, index);
            Assert.Throws<ArgumentOutOfRangeException>(() => slice.Chunks[number].Length);
            Assert.Throws<ArgumentOutOfRangeException>(() => slice.Chunks[-1].Length);
        }
    }

    [Fact]
    public void ASliceOfASequenceThatBecameShorterThrows()
    {
        var list = new TreeList<int>(Enumerable.Range(0, 10_000));
        TreeSlice<int> slice = list.Slice(5_000, 5_000);
        TreeChunks<int> chunks = slice.Chunks;
        Assert.Equal(5_500, slice.Slice(500, 10)[0]);
        Assert.Equal(500, slice.IndexOf(5_500));
        Assert.Equal(-1, slice.IndexOf(1));
        Assert.Equal(500, slice.BinarySearch(5_500));
        Assert.Equal(~0, slice.BinarySearch(1));
        list.RemoveRange(0, 5_001);
        Assert.Throws<ArgumentException>(() => slice.Sort());
        Assert.Throws<ArgumentOutOfRangeException>(() => slice[4_999]);
        Assert.Throws<ArgumentException>(() => slice.Chunks.Count);
        Assert.Throws<ArgumentOutOfRangeException>(() => chunks[0].Length);
        Assert.Throws<ArgumentException>(() => slice.ToArray());
        Assert.Throws<ArgumentException>(() => slice.GetEnumerator().MoveNext());
    }

    [Fact]
    public void WrongArgumentsAreRefused()
    {
        var list = new TreeList<int>([1, 2, 3]);
        Assert.Throws<ArgumentOutOfRangeException>(() => list[3]);
        Assert.Throws<ArgumentOutOfRangeException>(() => list[-1]);
        Assert.Throws<ArgumentOutOfRangeException>(() => list.Insert(4, 0));
        Assert.Throws<ArgumentOutOfRangeException>(() => list.InsertRange(4, Enumerable.Range(0, 2)));
        Assert.Throws<ArgumentOutOfRangeException>(() => list.RemoveAt(3));
        Assert.Throws<ArgumentOutOfRangeException>(() => list.RemoveRange(-1, 1));
        Assert.Throws<ArgumentException>(() => list.RemoveRange(2, 2));
        Assert.Throws<ArgumentException>(() => list.Slice(1, int.MaxValue));
        Assert.Throws<ArgumentException>(() => list.CopyTo(new int[2].AsSpan()));
        Assert.Throws<ArgumentException>(() => list.CopyTo(new int[3], 1));
        Assert.Throws<ArgumentNullException>(() => list.CopyTo(null!, 1));
        Assert.Throws<ArgumentNullException>(() => list.AddRange((IEnumerable<int>)null!));
        Assert.Throws<ArgumentException>(() => list.CopyFrom([1, 2], 2));
        Assert.Throws<ArgumentOutOfRangeException>(() => new TreeArray<int>(-1));
        Assert.Throws<ArgumentOutOfRangeException>(() => new TreeList<int>(-1));
        Assert.Throws<NotSupportedException>(() => ((ICollection<int>)new TreeArray<int>(1)).Add(1));
        Assert.Equal([1, 2, 3], list);
    }

    [Fact]
    public void AnExceptionFromACollectionLeavesTheList()
    {
        static IEnumerable<int> Failing()
        {
            for (int i = 0; i < 10_000; i++)
            {
                yield return i;
            }

            throw new ApplicationException("enumerate");
        }

        var list = new TreeList<int>([1, 2, 3]);
        Assert.Throws<ApplicationException>(() => list.InsertRange(1, Failing()));
        Assert.Equal([1, 2, 3], list);
    }

    [Fact]
    public void AConditionMayThrowOrChangeTheList()
    {
        var list = new TreeList<int>(Enumerable.Range(0, 10_000));
        Assert.Throws<ApplicationException>(() => list.RemoveAll(item => item == 6_000 ? throw new ApplicationException("match") : item % 2 == 0));
        Assert.Equal([.. Enumerable.Range(0, 3_000).Select(i => (2 * i) + 1), .. Enumerable.Range(6_000, 4_000)], list);
        Assert.Throws<InvalidOperationException>(() => list.RemoveAll(item =>
        {
            list.Add(item);
            return true;
        }));
    }

    [Fact]
    public void DerivedArraysAreCopiedAsArraysAre()
    {
        var list = new TreeList<object>();
        list.AddRange((object[])(string[])["a", "b"]);
        var strings = new string[2];
        list.CopyTo(strings, 0);
        Assert.Equal(["a", "b"], strings);
        list.Add(new object());
        Assert.Throws<InvalidCastException>(() => list.CopyTo(new string[3], 0));
    }

    [Fact]
    public void ItIsAListForTheFramework()
    {
        IList<int> list = new TreeList<int>([3, 1, 2]);
        Assert.False(list.IsReadOnly);
        Assert.Equal([1, 2, 3], list.Order());
        Assert.Equal([3, 1, 2], list.ToArray());
        Assert.Contains(2, list);
        IList<int> array = new TreeArray<int>([3, 1, 2]);
        array[0] = 4;
        Assert.Equal(4, array[0]);
        Assert.Equal(7, array.Sum());
    }
}
