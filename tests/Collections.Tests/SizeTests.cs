using System.Collections;
using System.Reflection;
using System.Runtime.CompilerServices;
using Xunit;

namespace Freehold.Collections.Tests;

/// <summary>Memory: no allocation above 32 KB, elements stay where they are, and a shorter sequence has fewer leaves.</summary>
public sealed class SizeTests
{
    private const int Most = 32 << 10;

    [Fact]
    public void NoArrayIsLargerThan32Kilobytes()
    {
        Check<byte>(5_000_000);
        Check<short>(1_000_000);
        Check<Triple>(1_000_000);
        Check<int>(1_000_000);
        Check<long>(5_000_000);  // more than one directory
        Check<string>(1_000_000);
        Check<decimal>(100_000);
        Check<Named>(100_000);
        Check<Large>(1_000);
        Check<Alone>(1_000);
        Check<Largest>(1_000);
    }

    [Fact]
    public void AnElementThatFitsIntoNoLeafIsRefused()
    {
        var exception = Assert.Throws<NotSupportedException>(() => new TreeList<TooLarge>());
        Assert.Contains("32745 bytes", exception.Message);
        Assert.Throws<NotSupportedException>(() => new TreeArray<TooLarge>(0));
    }

    [Fact]
    public void ASequenceThatIsTooLongIsRefusedAndStaysAsItWas()
    {
        var array = new TreeArray<Largest>(3);
        Assert.Throws<OutOfMemoryException>(() => array.Resize((1 << 22) + 1));
        Assert.Equal(3, array.Length);
        Assert.Equal(3, array.Capacity);
    }

    // An addition sees at the end of a leaf whether there may be another one: no number of elements is possible that ends within the last leaf.
    [Fact]
    public void TheMostElementsAreWholeLeaves()
    {
        Whole<byte>();
        Whole<short>();
        Whole<Triple>();
        Whole<int>();
        Whole<long>();
        Whole<string>();
        Whole<decimal>();
        Whole<Named>();
        Whole<Large>();
        Whole<Alone>();
        Whole<Largest>();
    }

    [Fact]
    public void ElementsStayWhereTheyAreWhileTheSequenceGrows()
    {
        var list = new TreeList<long>();
        list.Add(7);
        ref long first = ref list[0];
        var array = new TreeArray<long>(5);
        ref long last = ref array[4];
        for (int i = 1; i < 3_000_000; i++)
        {
            list.Add(i);
        }

        array.Resize(3_000_000);
        Assert.True(Unsafe.AreSame(ref first, ref list[0]));
        Assert.True(Unsafe.AreSame(ref last, ref array[4]));
        Assert.All(Arrays(list, "_root").OfType<long[]>(), leaf => Assert.Equal(2048, leaf.Length));
    }

    [Fact]
    public void AShorterListGivesLeavesBack()
    {
        var list = new TreeList<int>(Enumerable.Range(0, 1_000_000));
        int leaf = 4096;
        list.RemoveRange(10, 900_000);
        Assert.InRange(list.Capacity, list.Count, list.Count + (2 * leaf));
        list.Clear();
        Assert.Equal(leaf, list.Capacity);
        list.TrimExcess();
        Assert.Equal(0, list.Capacity);
        Assert.DoesNotContain(Arrays(list, "_root"), array => array.Length != 0);

        // An element at the edge of a leaf, again and again: no leaf is made and deleted each time.
        list.AddRange(Enumerable.Range(0, leaf));
        list.Add(1);
        int capacity = list.Capacity;
        list.RemoveAt(leaf);
        Assert.Equal(capacity, list.Capacity);
    }

    [Fact]
    public void WhatTheProgramAskedForStaysUntilItIsTrimmed()
    {
        var list = new TreeList<int>(100_000);
        int capacity = list.Capacity;
        Assert.InRange(capacity, 100_000, 100_000 + 4096);
        list.AddRange(Enumerable.Range(0, 50_000));
        list.Clear();
        Assert.Equal(capacity, list.Capacity);
        list.TrimExcess();
        Assert.Equal(0, list.Capacity);
    }

    [Fact]
    public void AShorterArrayHasNoMoreLeavesThanItNeeds()
    {
        var array = new TreeArray<int>(1_000_000);
        array.Fill(-1);
        array.Resize(5000);
        Assert.Equal(8192, array.Capacity);
        array.Resize(8192);
        Assert.Equal(-1, array[4999]);
        Assert.All(array.Slice(5000, 3192).ToArray(), element => Assert.Equal(0, element));
        array.Resize(0);
        Assert.Equal(0, array.Capacity);
    }

    [Fact]
    public void RemovedReferencesAreNotKept()
    {
        var list = new TreeList<object>();
        for (int i = 0; i < 100; i++)
        {
            list.Add(new object());
        }

        list.RemoveRange(20, 70);
        object?[] leaf = Arrays(list, "_root").OfType<object[]>().Single(array => array.GetType() == typeof(object[]));
        Assert.Equal(30, leaf.Count(element => element is not null));
    }

    [Fact]
    public void TheOwnedPartsAreTheLeavesTheDirectoriesAndTheRoot()
    {
        Parts(new TreeArray<long>(0));
        Parts(new TreeArray<long>(1));
        Parts(new TreeArray<long>(10_000));
        Parts(new TreeArray<Largest>(2048));
        Parts(new TreeArray<Largest>(2049));
        var shrunken = new TreeArray<Largest>(2049);
        shrunken.Resize(2048);
        Parts(shrunken);
    }

    private static void Parts<T>(TreeSequence<T> sequence)
    {
        FieldInfo field = typeof(TreeSequence<T>).GetField("_parts", BindingFlags.Instance | BindingFlags.NonPublic)!;
        OwnedAttribute mark = field.GetCustomAttribute<OwnedAttribute>()!;
        Assert.True(mark.Elements);
        var parts = (IEnumerable)field.GetValue(sequence)!;
        HashSet<object> expected = [.. Arrays(sequence, "_root").Where(array => array.Length != 0)];
        for (int round = 0; round < 2; round++)
        {
            object[] named = [.. parts.Cast<object>()];
            Assert.Equal(expected.Count, named.Length);
            Assert.Equal(expected, [.. named]);
        }
    }

    private static void Whole<T>()
    {
        Type leaf = typeof(TreeArray<>).Assembly.GetType("Freehold.Collections.Leaf`1")!.MakeGenericType(typeof(T));
        int Constant(string name) => (int)leaf.GetProperty(name, BindingFlags.Static | BindingFlags.NonPublic)!.GetValue(null)!;
        Assert.InRange(Constant("MostElements"), 1 << 22, int.MaxValue);
        Assert.Equal(0, Constant("MostElements") % Constant("Length"));
    }

    private static void Check<T>(int count)
    {
        long before = GC.GetAllocatedBytesForCurrentThread();
        var list = new TreeList<T>();
        for (int i = 0; i < count; i++)
        {
            list.Add(default!);
        }

        var array = new TreeArray<T>(count);
        long allocated = GC.GetAllocatedBytesForCurrentThread() - before;
        long found = 0;
        foreach (Array one in Arrays(list, "_root").Concat(Arrays(array, "_root")))
        {
            long size = 24 + ((long)one.Length * (one is T[]? Unsafe.SizeOf<T>() : IntPtr.Size));
            Assert.InRange(size, 24, Most);
            found += size;
        }

        // Nothing else was made, but for directories that were outgrown, which have less than those that are there.
        Assert.InRange(allocated, found, found + (found / 4) + 4096);
    }

    private static IEnumerable<Array> Arrays<T>(TreeSequence<T> sequence, string field)
    {
        var root = (T[]?[]?[])typeof(TreeSequence<T>).GetField(field, BindingFlags.Instance | BindingFlags.NonPublic)!.GetValue(sequence)!;
        yield return root;
        foreach (T[]?[]? directory in root)
        {
            if (directory is null)
            {
                continue;
            }

            yield return directory;
            foreach (T[]? leaf in directory)
            {
                if (leaf is not null)
                {
                    yield return leaf;
                }
            }
        }
    }
}
