using Xunit;

namespace Freehold.Collections.Tests;

/// <summary>Orders that are bad for a sort by parts, and comparisons that fail or contradict each other.</summary>
public sealed class SortTests
{
    private const int Count = 100_000;

    public static TheoryData<string> Shapes { get; } = ["random", "sorted", "reversed", "equal", "two values", "organ pipe", "saw", "almost sorted"];

    [Theory]
    [MemberData(nameof(Shapes))]
    public void AnyOrderIsSorted(string shape)
    {
        var random = new Random(5);
        int[] model = [.. Enumerable.Range(0, Count).Select(i => shape switch
        {
            "random" => random.Next(),
            "sorted" => i,
            "reversed" => -i,
            "equal" => 3,
            "two values" => random.Next(2),
            "organ pipe" => Math.Min(i, Count - i),
            "saw" => i % 1000,
            _ => i + random.Next(10),
        })];
        var tree = new TreeArray<int>(model);
        var other = new TreeArray<int>(model);
        var third = new TreeList<int>(model);
        tree.Sort();
        other.Sort((x, y) => y.CompareTo(x));
        third.Sort(Comparer<int>.Create((x, y) => x.CompareTo(y)));
        Array.Sort(model);
        Assert.Equal(model, tree.ToArray());
        Assert.Equal(model, third.ToArray());
        Array.Reverse(model);
        Assert.Equal(model, other.ToArray());
    }

    [Fact]
    public void NumbersThatAreNoneComeFirst()
    {
        var random = new Random(6);
        double[] model = [.. Enumerable.Range(0, Count).Select(_ => random.Next(10) == 0 ? double.NaN : random.NextDouble() - 0.5)];
        var tree = new TreeArray<double>(model);
        tree.Sort();
        Array.Sort(model);
        Assert.Equal(model, tree.ToArray());
    }

    // The order that this sort itself is worst at: whatever it compares with the pivot is said to be larger (McIlroy, "A Killer Adversary for Quicksort").
    [Fact]
    public void AnAdversaryDoesNotMakeItQuadratic()
    {
        int solid = 0, candidate = 0;
        long comparisons = 0;
        int[] values = [.. Enumerable.Repeat(int.MaxValue, Count)];
        int Compare(int x, int y)
        {
            comparisons++;
            if (values[x] == int.MaxValue && values[y] == int.MaxValue)
            {
                values[x == candidate ? x : y] = solid++;
            }

            candidate = values[x] == int.MaxValue ? x : values[y] == int.MaxValue ? y : candidate;
            return values[x].CompareTo(values[y]);
        }

        var tree = new TreeArray<int>([.. Enumerable.Range(0, Count)]);
        tree.Sort(Compare);
        Assert.Equal(Enumerable.Range(0, Count), tree.OrderBy(x => x));
        Assert.InRange(comparisons, Count, 100L * Count);
    }

    [Fact]
    public void ComparisonsThatContradictEachOtherLoseNoElement()
    {
        foreach (int answer in (int[])[-1, 1])
        {
            var tree = new TreeArray<int>([.. Enumerable.Range(0, Count)]);
            try
            {
                tree.Sort((_, _) => answer);
            }
            catch (InvalidOperationException)
            {
                // The framework's own sort, within a leaf, may see it.
            }

            Assert.Equal(Enumerable.Range(0, Count), tree.OrderBy(x => x));
        }

        var random = new Random(7);
        var chance = new TreeArray<string>([.. Enumerable.Range(0, Count).Select(i => i.ToString("d6"))]);
        try
        {
            chance.Sort((_, _) => random.Next(-1, 2));
        }
        catch (InvalidOperationException)
        {
        }

        Assert.Equal(Enumerable.Range(0, Count), chance.Select(int.Parse).OrderBy(x => x));
    }

    [Fact]
    public void AComparisonThatThrowsLosesNoElement()
    {
        for (int when = 1; when < 4_000_000; when *= 3)
        {
            int left = when;
            var tree = new TreeArray<int>([.. Enumerable.Range(0, Count).Select(i => i * 7919 % Count)]);
            bool threw = false;
            try
            {
                tree.Sort((x, y) => --left == 0 ? throw new ApplicationException("compare") : x.CompareTo(y));
            }
            catch (InvalidOperationException exception)
            {
                Assert.IsType<ApplicationException>(exception.InnerException);
                threw = true;
            }

            Assert.Equal(left <= 0, threw);
            Assert.Equal(Enumerable.Range(0, Count), tree.OrderBy(x => x));
        }
    }

    // Where the framework's sort holds an element outside of the leaf while it compares: each comparison of short sorts throws once.
    [Fact]
    public void NoComparisonOfAShortSortLosesAnElement()
    {
        for (int count = 4; count <= 40; count++)
        {
            int when = 1;
            while (Fails(tree => tree.Sort((x, y) => x.CompareTo(y)), count, when)
                | Fails(tree => tree.Sort(Comparer<Counted>.Create((x, y) => x.CompareTo(y))), count, when)
                | Fails(tree => tree.Sort(), count, when))
            {
                when++;
            }

            Assert.InRange(when, count, count * count);
        }
    }

    /// <summary>A use of a deleted object, and a want of memory, are not taken for a comparison that failed.</summary>
    [Theory]
    [InlineData(10)]
    [InlineData(Count)]
    public void ADanglingReferenceIsNoBadComparison(int count)
    {
        var tree = new TreeArray<int>([.. Enumerable.Range(0, count).Select(i => i * 7919 % count)]);
        foreach (Exception thrown in (Exception[])[new DanglingReferenceException(), new OutOfMemoryException()])
        {
            var comparer = Comparer<int>.Create((_, _) => throw thrown);
            Assert.Same(thrown, Record.Exception(() => tree.Sort(comparer)));
            Assert.Same(thrown, Record.Exception(() => tree.Sort((_, _) => throw thrown)));
            Assert.Same(thrown, Record.Exception(() => tree.BinarySearch(1, comparer)));
        }
    }

    [Fact]
    public void ElementsWithoutAnOrderAreRefused()
    {
        var tree = new TreeArray<object>(10_000);
        foreach (ref object element in tree)
        {
            element = new object();
        }

        Assert.Throws<InvalidOperationException>(() => tree.Sort());
        Assert.Throws<InvalidOperationException>(() => tree.BinarySearch(new object()));
        Assert.Throws<ArgumentNullException>(() => tree.Sort((Comparison<object>)null!));
    }

    // Whether a comparison threw; in any case all elements are there.
    private static bool Fails(Action<TreeArray<Counted>> sort, int count, int when)
    {
        var left = new int[1];
        Counted[] elements = [.. Enumerable.Range(0, count).Select(i => new Counted(i * 7 % count, left))];
        var tree = new TreeArray<Counted>(elements);
        left[0] = when;
        bool threw = false;
        try
        {
            sort(tree);
        }
        catch (InvalidOperationException exception)
        {
            Assert.IsType<ApplicationException>(exception.InnerException);
            threw = true;
        }

        Assert.True(elements.ToHashSet().SetEquals(tree));
        return threw;
    }

    private sealed class Counted(int number, int[] left) : IComparable<Counted>
    {
        private readonly int _number = number;

        public int CompareTo(Counted? other) => --left[0] == 0 ? throw new ApplicationException("compare") : _number.CompareTo(other!._number);
    }
}
