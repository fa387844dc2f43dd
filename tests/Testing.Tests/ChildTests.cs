using System.Diagnostics;
using System.Globalization;

namespace Freehold.Testing.Tests;

/// <summary>What reaches the child and what comes back, above all where something goes wrong.</summary>
public class ChildTests
{
    [Fact]
    public void OnlyTheChildHasFreeholdsHeap()
    {
        Assert.False(Heap.IsManual);
        PublishedTest.Run(() => Assert.True(Heap.IsManual));
        PublishedTest.Run(IsManual);
    }

    [Theory]
    [InlineData(42, "a text\nof two lines", 'c', 0.1, DayOfWeek.Friday, null)]
    [InlineData(int.MinValue, "", '\0', double.NaN, DayOfWeek.Sunday, "more")]
    public void CapturedValuesAreCopied(int number, string text, char letter, double real, DayOfWeek day, string? none)
    {
        var time = new DateTimeOffset(2026, 11, 26, 21, 14, 0, TimeSpan.FromHours(1));
        decimal price = 12.50m;
        string expected = string.Create(CultureInfo.InvariantCulture, $"{number} {text} {(int)letter} {real:R} {day} {none ?? "null"} {time:O} {price}");
        foreach (int round in new[] { 1, 2 })
        {
            PublishedTest.Run(() =>
            {
                Assert.Equal(expected, string.Create(CultureInfo.InvariantCulture, $"{number} {text} {(int)letter} {real:R} {day} {none ?? "null"} {time:O} {price}"));
                Assert.InRange(round, 1, 2);
            });
        }
    }

    [Fact]
    public void MethodsOfTheTestClassCanBeCalled() => PublishedTest.Run(() => Assert.Equal(3, Half(6)));

    [Fact]
    public void ACapturedObjectIsRefused()
    {
        var order = new Order(1);
        var refusal = Assert.Throws<PublishedTestException>(() => PublishedTest.Run(() => Assert.Equal(1, order.Number)));

        Assert.Contains("ACapturedObjectIsRefused", refusal.Message);
        Assert.Contains("it captures 'order', a Freehold.Testing.Tests.Order", refusal.Message);
    }

    [Fact]
    public void AGenericTestIsRefused()
    {
        var refusal = Assert.Throws<PublishedTestException>(RunGeneric<int>);

        Assert.Contains("it is generic", refusal.Message);
    }

    [Fact]
    public void AnExceptionComesBack()
    {
        var failure = Assert.Throws<PublishedTestException>(() => PublishedTest.Run(() => Throw("of the child")));

        Assert.Equal("System.FormatException", failure.ExceptionType);
        Assert.Contains("System.FormatException: of the child", failure.Message);
        Assert.True(failure.Message.Contains("ChildTests.Throw(String", StringComparison.Ordinal), failure.Message);
        Assert.Contains("a last word", failure.Message);
    }

    [Fact]
    public void AnAssertionOfTheFrameworkComesBack()
    {
        var failure = Assert.Throws<PublishedTestException>(() => PublishedTest.Run(() => Assert.Equal(1, Half(4))));

        Assert.Equal("Xunit.Sdk.EqualException", failure.ExceptionType);
        Assert.Contains("Assert.Equal() Failure", failure.Message);
    }

    [Fact]
    public void AnAsynchronousTestIsWaitedFor()
    {
        var failure = Assert.Throws<PublishedTestException>(() => PublishedTest.Run(async () =>
        {
            await Task.Yield();
            Throw("later");
        }));

        Assert.Contains("System.FormatException: later", failure.Message);
    }

    [Fact]
    public void ACrashIsTold()
    {
        var failure = Assert.Throws<PublishedTestException>(() => PublishedTest.Run(() => Environment.FailFast("the end of it")));

        Assert.Contains("The published child crashed, by SIGABRT", failure.Message);
        Assert.Contains("ACrashIsTold", failure.Message);
        Assert.Contains("the end of it", failure.Message);
    }

    [Fact]
    public void ACrashInAnotherThreadIsTold()
    {
        var failure = Assert.Throws<PublishedTestException>(() => PublishedTest.Run(() =>
        {
            var thread = new Thread(() => Throw("of a thread"));
            thread.Start();
            thread.Join();
        }));

        Assert.Contains("The published child crashed", failure.Message);
        Assert.Contains("of a thread", failure.Message);
    }

    [Fact]
    public void AKilledChildIsTold()
    {
        var failure = Assert.Throws<PublishedTestException>(() => PublishedTest.Run(() => Process.GetCurrentProcess().Kill()));

        Assert.Contains("SIGKILL", failure.Message);
    }

    [Fact]
    public void AnExitIsTold()
    {
        var failure = Assert.Throws<PublishedTestException>(() => PublishedTest.Run(() => Environment.Exit(0)));

        Assert.Contains("ended by itself", failure.Message);
        Assert.Contains("exit code 0", failure.Message);
    }

    [Fact]
    public void AChildThatDoesNotEndIsEnded()
    {
        var failure = Assert.Throws<PublishedTestException>(
            () => PublishedTest.Run(() => Thread.Sleep(Timeout.Infinite), new PublishedTestOptions { Timeout = TimeSpan.FromSeconds(1) }));

        Assert.Contains("did not end within 1 s", failure.Message);
    }

    [Fact]
    public void TheEnvironmentIsTheOptions()
    {
        PublishedTest.Run(() => Assert.Equal("stacks off", Setting("FREEHOLD_DEBUG") + " " + Setting("FREEHOLD_RECLAIM")));
        var options = new PublishedTestOptions { Debug = false, Environment = new Dictionary<string, string> { ["FREEHOLD_RECLAIM"] = "manual", ["SHOP"] = "open" } };
        PublishedTest.Run(() => Assert.Equal(" manual open", Setting("FREEHOLD_DEBUG") + " " + Setting("FREEHOLD_RECLAIM") + " " + Setting("SHOP")), options);
    }

    private static string? Setting(string name) => Environment.GetEnvironmentVariable(name);

    private static void IsManual() => Assert.True(Heap.IsManual);

    private static void RunGeneric<T>() => PublishedTest.Run(() => GC.KeepAlive(typeof(T)));

    private static void Throw(string message)
    {
        Console.WriteLine("a last word");
        throw new FormatException(message);
    }

    // Of the object: the lambda that calls it captures 'this'.
#pragma warning disable CA1822
    private int Half(int number) => number / 2;
#pragma warning restore CA1822
}
