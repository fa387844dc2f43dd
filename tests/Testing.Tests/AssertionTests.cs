using System.Text.RegularExpressions;

namespace Freehold.Testing.Tests;

/// <summary>Each assertion holds where it should, and says what it found where it does not.</summary>
public class AssertionTests
{
    [Fact]
    public void ABlockThatDeletesWhatItMakesLeavesNothing() => HeapAssert.LeavesNothing(() =>
    {
        var order = new Order(1);
        order.Number++;
        Heap.Delete(order);
    });

    [Fact]
    public void ALeakIsNamed()
    {
        var failure = Assert.Throws<HeapAssertException>(() => HeapAssert.LeavesNothing(() => Leak(3)));

        Assert.Contains("left 72 bytes in 3 objects that it allocated and nobody deleted", failure.Message);
        Assert.Contains("72 bytes in 3 x Freehold.Testing.Tests.Order, to which nothing leads any more", failure.Message);
        Assert.True(Regex.IsMatch(failure.Message, @"72 bytes in 3 objects allocated\s+at Freehold\.Testing\.Tests\.AssertionTests\.Leak\(Int32"), failure.Message);
    }

    [Fact]
    public void WhatACacheHoldsIsLeft()
    {
        var failure = Assert.Throws<HeapAssertException>(() => HeapAssert.LeavesNothing(() => Order.Kept.Add(new Order(1))));

        Assert.Contains("1 x Freehold.Testing.Tests.Order, which can be reached", failure.Message);
    }

    [Fact]
    public void WhatTheFirstRunFillsIsNotLeft() => HeapAssert.LeavesNothing(() =>
    {
        if (Order.Kept.Count == 0)
            Order.Kept.Add(new Order(1));
    });

    [Fact]
    public void SomeBytesMayBeLeft()
    {
        HeapAssert.LeavesAtMost(72, () => Leak(3));
        var failure = Assert.Throws<HeapAssertException>(() => HeapAssert.LeavesAtMost(71, () => Leak(3)));

        Assert.Contains("left 72 bytes in 3 objects, more than 71 bytes,", failure.Message);
    }

    [Fact]
    public void WhatNothingLeadsToIsNotKept() => HeapAssert.KeepsNothing(() => Leak(3));

    [Fact]
    public void WhatACacheHoldsIsKept()
    {
        var failure = Assert.Throws<HeapAssertException>(() => HeapAssert.KeepsNothing(() => Order.Kept.Add(new Order(1))));

        Assert.Contains("left 24 bytes in 1 objects that can still be reached", failure.Message);
        Assert.Contains("1 x Freehold.Testing.Tests.Order, which can be reached", failure.Message);
    }

    [Fact]
    public void WhatADeletionFreesIsCounted()
    {
        HeapAssert.Frees(24, () => Heap.Delete(new Order(1)));
        HeapAssert.FreesAtLeast(20, () => Heap.Delete(new Order(1)));
        var exact = Assert.Throws<HeapAssertException>(() => HeapAssert.Frees(48, () => Heap.Delete(new Order(1))));
        var atLeast = Assert.Throws<HeapAssertException>(() => HeapAssert.FreesAtLeast(25, () => Heap.Delete(new Order(1))));

        Assert.Contains("freed 24 bytes in 1 objects, and should have freed 48 bytes", exact.Message);
        Assert.Contains("should have freed at least 25 bytes", atLeast.Message);
    }

    [Fact]
    public void AUseOfADeletedObjectThrows() => HeapAssert.ThrowsDangling(() =>
    {
        var order = new Order(1);
        Heap.Delete(order);
        order.Number++;
    });

    [Fact]
    public void AUseThatIsNoneIsTold()
    {
        var alive = Assert.Throws<HeapAssertException>(() => HeapAssert.ThrowsDangling(() => new Order(1).Number++));
        var other = Assert.Throws<HeapAssertException>(() => HeapAssert.ThrowsDangling(() => throw new FormatException("not this")));

        Assert.Contains("no DanglingReferenceException", alive.Message);
        Assert.Contains("threw System.FormatException instead of System.DanglingReferenceException: not this", other.Message);
    }

    [Fact]
    public void ASecondDeletionThrows()
    {
        HeapAssert.ThrowsDoubleDelete(() =>
        {
            var order = new Order(1);
            Heap.Delete(order);
            Heap.Delete(order);
        });
        var failure = Assert.Throws<HeapAssertException>(() => HeapAssert.ThrowsDoubleDelete(() => Heap.Delete(new Order(1))));

        Assert.Contains("no DoubleDeleteException", failure.Message);
    }

    /// <summary>Assertions of a larger test, in one child.</summary>
    [Fact]
    public void AssertionsInOneChild() => PublishedTest.Run(() =>
    {
        HeapAssert.LeavesNothing(() => Heap.Delete(new Order(1)));
        Assert.Throws<HeapAssertException>(() => HeapAssert.LeavesNothing(() => Leak(1)));
    });

    [System.Runtime.CompilerServices.MethodImpl(System.Runtime.CompilerServices.MethodImplOptions.NoInlining)]
    private static void Leak(int count)
    {
        for (int i = 0; i < count; i++)
            GC.KeepAlive(new Order(i));
    }
}
