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

    /// <summary>Debug mode tells a second deletion from a use: the use before it is another defect.</summary>
    [Fact]
    public void AUseBeforeASecondDeletionIsNone()
    {
        var failure = Assert.Throws<HeapAssertException>(() => HeapAssert.ThrowsDoubleDelete(() =>
        {
            var order = new Order(1);
            Heap.Delete(order);
            order.Number++;
            Heap.Delete(order);
        }));

        Assert.Contains("threw System.DanglingReferenceException instead of System.DoubleDeleteException", failure.Message);
    }

    /// <summary>What an earlier run of the block has left, and it reclaims itself, does not make up for what it leaves.</summary>
    [Fact]
    public void ABlockThatReclaimsFirstLeavesWhatItLeaves()
    {
        var failure = Assert.Throws<HeapAssertException>(() => HeapAssert.LeavesNothing(() =>
        {
            Heap.Reclaim();
            Leak(3);
        }));

        Assert.Contains("3 x Freehold.Testing.Tests.Order", failure.Message);
    }

    /// <summary>What the heap would have deleted later is deleted before the block is counted.</summary>
    [Fact]
    public void WhatWasOutgrownBeforeIsNotFreed() => PublishedTest.Run(() =>
    {
        var list = new List<long>();
        Grow(list, 3000);
        HeapAssert.Frees(24, () =>
        {
            Grow(list, 1500);
            Heap.Delete(new Order(1));
        });
    });

    /// <summary>One run of several makes something that stays, as the framework does for each processor and thread.</summary>
    [Fact]
    public void WhatOneRunMakesIsNotLeft() => PublishedTest.Run(() =>
    {
        for (int which = 1; which <= 4; which++)
        {
            int run = 0;
            HeapAssert.LeavesNothing(() =>
            {
                if (++run == which)
                    Order.Kept.Add(new Order(run));
            });
        }
    });

    [Fact]
    public void WhatThePoolKeepsForAProcessorIsNotLeft() => PublishedTest.Run(() => HeapAssert.KeepsNothing(() =>
    {
        var tasks = new Task[8];
        for (int i = 0; i < tasks.Length; i++)
            tasks[i] = Task.Run(() => System.Buffers.ArrayPool<byte>.Shared.Return(System.Buffers.ArrayPool<byte>.Shared.Rent(1000)));
        Task.WaitAll(tasks);
    }));

    [Fact]
    public void AnAsynchronousBlockIsRunToItsEnd()
    {
        HeapAssert.LeavesNothing(async () =>
        {
            await Task.Yield();
            Heap.Delete(new Order(1));
        });
        var failure = Assert.Throws<HeapAssertException>(() => HeapAssert.LeavesNothing(async () =>
        {
            await Task.Delay(1);
            Leak(3);
        }));

        Assert.Contains("72 bytes in 3 x Freehold.Testing.Tests.Order", failure.Message);
    }

    [Fact]
    public void OtherAsynchronousBlocksAreRunToTheirEnd() => PublishedTest.Run(() =>
    {
        HeapAssert.KeepsNothing(async () => await LeakLaterAsync());
        HeapAssert.LeavesAtMost(100_000, async () => await LeakLaterAsync());
        HeapAssert.FreesAtLeast(24, DeleteLaterAsync);
        HeapAssert.ThrowsDangling(UseLaterAsync);
        HeapAssert.ThrowsDoubleDelete(async () =>
        {
            await Task.Yield();
            var order = new Order(1);
            Heap.Delete(order);
            Heap.Delete(order);
        });
        Assert.Throws<HeapAssertException>(() => HeapAssert.ThrowsDangling(LeakLaterAsync));
    });

    [Fact]
    public void AsyncVoidIsRefused()
    {
        foreach (Action run in (Action[])[() => HeapAssert.LeavesNothing(Void), () => PublishedTest.Run(Void)])
        {
            var refusal = Assert.Throws<PublishedTestException>(run);
            Assert.Contains("AssertionTests.Void cannot run in the published child: it is 'async void'", refusal.Message);
        }

        PublishedTest.Run(() => Assert.Throws<PublishedTestException>(() => HeapAssert.LeavesNothing(Void)));
    }

    /// <summary>Where a lambda is in another one, or in a loop, the compiler keeps its delegate beside the captured variable.</summary>
    [Theory]
    [InlineData(2)]
    public void ALambdaInALambdaCapturesValues(int count)
    {
        for (int round = 0; round < 2; round++)
        {
            var failure = Assert.Throws<HeapAssertException>(() => HeapAssert.LeavesAtMost(47, () => Leak(count)));
            Assert.Contains("48 bytes in 2 objects", failure.Message);
        }
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

    private static void Grow(List<long> list, int count)
    {
        for (int i = 0; i < count; i++)
            list.Add(i);
    }

    private static async Task LeakLaterAsync()
    {
        await Task.Yield();
        Leak(1);
    }

    private static async Task DeleteLaterAsync()
    {
        await Task.Yield();
        Heap.Delete(new Order(1));
    }

    private static async Task UseLaterAsync()
    {
        var order = new Order(1);
        await Task.Yield();
        Heap.Delete(order);
        order.Number++;
    }

#pragma warning disable VSTHRD100
    private static async void Void()
    {
        await Task.Yield();
        Leak(1);
    }
#pragma warning restore VSTHRD100
}
