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

    /// <summary>What theories are given, whatever the declared type of the argument is.</summary>
    [Fact]
    public void ValuesOfAllTypesAreCopied()
    {
        // One child for all: the array's elements are of the types.
        object?[] values = Values;
        Size? size = Size.Large;
        Enum boxed = Size.Small;
        DayOfWeek day = DayOfWeek.Friday;
        Size[] sizes = [Size.Large];
        PublishedTest.Run(() =>
        {
            object?[] expected = Values;
            Assert.Equal(expected.Length, values.Length);
            for (int i = 0; i < expected.Length; i++)
            {
                Assert.Equal(expected[i]?.GetType(), values[i]?.GetType());
                if (expected[i] is not Array)
                    Assert.True(Equals(expected[i], values[i]), $"{expected[i]} {values[i]}");
                else
                    Assert.Equal(string.Join(' ', (expected[i] as System.Collections.IEnumerable)!.Cast<object?>()), string.Join(' ', (values[i] as System.Collections.IEnumerable)!.Cast<object?>()));
            }

            Assert.Equal("Large Small Friday Large", $"{size} {boxed} {day} {sizes[0]}");
        });
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

    /// <summary>A list of the same elements is no array: the child would not have the same object.</summary>
    [Fact]
    public void ACapturedListIsRefused()
    {
        List<int> numbers = [1];
        var refusal = Assert.Throws<PublishedTestException>(() => PublishedTest.Run(() => Assert.Single(numbers)));

        Assert.Contains("it captures 'numbers'", refusal.Message);
        Assert.Contains("another lambda beside it", refusal.Message);
    }

    /// <summary>The compiler's names of lambdas mean others in another build.</summary>
    [Fact]
    public void AnotherBuildOfTheTestsIsRefused()
    {
        byte[] call = TestCall.Write((Action)IsManual, Assertion.None, 0);
        int mvid = call.AsSpan().IndexOf(typeof(ChildTests).Module.ModuleVersionId.ToByteArray());
        call[mvid] ^= 1;
        string child = PublishedChild.Get(ChildSettings.Find("Testing.Tests", "this test"));
        var failure = Assert.Throws<PublishedTestException>(() => ChildProcess.Run(child, call, new PublishedTestOptions(), "this test"));

        Assert.Contains("has another build of Testing.Tests", failure.Message);
        Assert.Contains("Run the tests again", failure.Message);
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

    /// <summary>A test that fails while it has a thread: what is told is why it has failed.</summary>
    [Fact]
    public void AThreadDoesNotHideAFailure()
    {
        var failure = Assert.Throws<PublishedTestException>(() => PublishedTest.Run(() =>
        {
            new Thread(() => Thread.Sleep(Timeout.Infinite)).Start();
            Throw("with a thread");
        }));

        Assert.Contains("System.FormatException: with a thread", failure.Message);
    }

    [Fact]
    public void AThreadThatIsLeftIsTold()
    {
        var failure = Assert.Throws<PublishedTestException>(
            () => PublishedTest.Run(() => new Thread(() => Thread.Sleep(Timeout.Infinite)).Start(), new PublishedTestOptions { Timeout = TimeSpan.FromSeconds(60) }));

        Assert.Contains("The test passed, but the published child did not end", failure.Message);
    }

    [Fact]
    public void StandardInputIsEmpty() => PublishedTest.Run(() => Assert.Null(Console.ReadLine()));

    [Fact]
    public void OfEndlessOutputTheStartAndTheEndAreKept()
    {
        var failure = Assert.Throws<PublishedTestException>(() => PublishedTest.Run(() =>
        {
            Console.Write("the first word");
            for (int i = 0; i < 1000; i++)
                Console.Write(new string('x', 10_000));
            Throw("behind it");
        }));

        Assert.InRange(failure.Message.Length, 100_000, 3_000_000);
        Assert.Contains("the first word", failure.Message);
        Assert.Contains("much more, which is not kept", failure.Message);
        Assert.Contains("a last word", failure.Message);
    }

    /// <summary>The test's data is beside the child as it is beside the tests, changed or not.</summary>
    [Fact]
    public void FilesBesideTheTestsAreBesideTheChild()
    {
        string name = $"data-{Guid.NewGuid():N}", file = Path.Combine(AppContext.BaseDirectory, "data", name);
        Directory.CreateDirectory(Path.GetDirectoryName(file)!);
        File.WriteAllText(file, "as it is now");
        PublishedTest.Run(() => Assert.Equal("as it is now", File.ReadAllText(Path.Combine(AppContext.BaseDirectory, "data", name))));
        File.Delete(file);
    }

    [Fact]
    public void TheEnvironmentIsTheOptions()
    {
        PublishedTest.Run(() => Assert.Equal("stacks off", Setting("FREEHOLD_DEBUG") + " " + Setting("FREEHOLD_RECLAIM")));
        var options = new PublishedTestOptions { Debug = false, Environment = new Dictionary<string, string> { ["FREEHOLD_RECLAIM"] = "manual", ["SHOP"] = "open" } };
        PublishedTest.Run(() => Assert.Equal(" manual open", Setting("FREEHOLD_DEBUG") + " " + Setting("FREEHOLD_RECLAIM") + " " + Setting("SHOP")), options);
    }

    private enum Size
    {
        Small,
        Large,
    }

    private enum Large : ulong
    {
        Most = ulong.MaxValue,
    }

    private static object?[] Values =>
    [
        "\ud800 alone", "\0", Size.Large, ulong.MaxValue, Large.Most, (Half)1.5, Int128.MinValue, (nint)7, new DateOnly(2026, 11, 26), new TimeOnly(23, 5), TimeSpan.FromTicks(3), 1.50m,
        new DateTime(2026, 11, 26, 1, 2, 3, DateTimeKind.Utc), new DateTimeOffset(2026, 11, 26, 1, 2, 3, TimeSpan.FromHours(-3)), new Uri("shop/orders", UriKind.Relative), typeof(Order), typeof(int), Guid.Parse("00000000-0000-0000-0000-000000000007"),
        new[] { 1, 2, 3 }, Array.Empty<string>(), new string?[] { "a", null }, new object?[] { 1, "a", null, Size.Small, new[] { 2.5 } }, new[] { Size.Small, Size.Large }, float.NaN, null,
    ];

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
