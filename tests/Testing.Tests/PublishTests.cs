using System.Diagnostics;

namespace Freehold.Testing.Tests;

/// <summary>When the child is published and which one is used; with a script instead of the SDK.</summary>
public sealed class PublishTests : IDisposable
{
    private readonly string _root = Directory.CreateTempSubdirectory("freehold publish; ").FullName;

    private string Bin => Path.Combine(_root, "bin");

    private string Work => Path.Combine(_root, "obj");

    private string Log => Path.Combine(_root, "log");

    public PublishTests()
    {
        Directory.CreateDirectory(Bin);
        File.WriteAllText(Path.Combine(Bin, "Shop.Tests.dll"), "the first build");
    }

    public void Dispose() => Directory.Delete(_root, recursive: true);

    [Fact]
    public void AFailedPublishIsRemembered()
    {
        _ = Settings("echo 'error FH0000: not today'; exit 3", 0);
        for (int i = 0; i < 3; i++)
        {
            var failure = Assert.Throws<PublishedTestException>(() => PublishedChild.Get(ChildSettings.Find("Shop.Tests", "a test", Bin)));
            Assert.Contains("exit code 3", failure.Message);
            Assert.Contains("error FH0000: not today", failure.Message);
        }

        Assert.Single(File.ReadLines(Log));
    }

    [Fact]
    public void APublishHasNoInput() => Assert.Contains("end of input", Assert.Throws<PublishedTestException>(() => PublishedChild.Get(Settings("read line || echo 'error: end of input'; exit 1", 0))).Message);

    [Fact]
    public void AChildThatIsUsedStaysAsItIs()
    {
        string first = PublishedChild.Get(Settings(0));
        File.WriteAllText(Path.Combine(Bin, "Shop.Tests.dll"), "the second build");
        string second = PublishedChild.Get(Settings(1));
        File.WriteAllText(Path.Combine(Bin, "Shop.Tests.dll"), "the first build");

        Assert.NotEqual(first, second);
        Assert.Contains("the first build", File.ReadAllText(first));
        Assert.Contains("the second build", File.ReadAllText(second));
        Assert.Equal(2, File.ReadLines(Log).Count());
        Assert.Empty(Directory.GetFileSystemEntries(Work, "work"));
    }

    [Fact]
    public void ATranslationIsOfTheContent()
    {
        string first = PublishedChild.Get(Settings(0));
        Directory.CreateDirectory(Path.Combine(Bin, "de"));
        File.WriteAllText(Path.Combine(Bin, "de", "Shop.resources.dll"), "Laden");

        Assert.NotEqual(first, PublishedChild.Get(Settings(1)));
    }

    [Fact]
    public void OldChildrenThatNobodyUsesAreDeleted()
    {
        string children = Path.Combine(Work, "publish");
        for (int age = 1; age <= 4; age++)
        {
            Directory.CreateDirectory(Path.Combine(children, $"age{age}"));
            File.WriteAllText(Path.Combine(children, $"age{age}.lock"), "");
            File.SetLastWriteTimeUtc(Path.Combine(children, $"age{age}.lock"), new DateTime(2026, 1, 10 - age, 0, 0, 0, DateTimeKind.Utc));
        }

        using (FileLock.TryShare(Path.Combine(children, "age3.lock")))
            PublishedChild.Get(Settings(0));

        Assert.Equal(["age1", "age2", "age3"], Directory.GetDirectories(children, "age*").Select(Path.GetFileName).Order());
    }

    [Fact]
    public void LocksAreOfOneOrOfThoseThatShare()
    {
        string path = Path.Combine(_root, "lock");
        using (FileLock.TryOwn(path))
        {
            Assert.Null(FileLock.TryOwn(path));
            Assert.Null(FileLock.TryShare(path));
            Assert.Contains($"'{path}'", Assert.Throws<PublishedTestException>(() => FileLock.Take(path, TimeSpan.Zero)).Message);
        }

        using (FileLock.TryShare(path))
        using (IDisposable? second = FileLock.TryShare(path))
        {
            Assert.NotNull(second);
            Assert.Null(FileLock.TryOwn(path));
        }
    }

    /// <summary>Whatever is wrong with the folder is told, at once.</summary>
    [Theory]
    [InlineData("/proc/freehold")]
    [InlineData("/dev/null/freehold")]
    public void AFolderThatCannotBeWrittenIsTold(string work)
    {
        ChildSettings settings = Settings(0) with { Work = work };
        var failure = Assert.Throws<PublishedTestException>(() => PublishedChild.Get(settings));

        Assert.Contains($"the child cannot be made in {work}", failure.Message);
    }

    [Fact]
    public void ALockThatCannotBeMadeIsTold()
    {
        Directory.CreateDirectory(Path.Combine(Work, "publish.lock"));

        Assert.Contains("publish.lock", Assert.Throws<PublishedTestException>(() => PublishedChild.Get(Settings(0))).Message);
    }

    [Fact]
    public void FilesBesideTheTestsAreLinked()
    {
        Directory.CreateDirectory(Path.Combine(Bin, "data"));
        string native = Path.Combine(Bin, "runtimes", "linux-x64", "native"), old = Path.Combine(Bin, "old.txt");
        Directory.CreateDirectory(native);
        File.WriteAllText(Path.Combine(native, "libshop.so"), "code");
        File.WriteAllText(old, "old");
        ChildSettings settings = Settings(0);
        string child = Path.GetDirectoryName(PublishedChild.Get(settings))!;
        File.WriteAllText(Path.Combine(Bin, "data", "orders.csv"), "1,nails");
        File.Delete(old);
        PublishedChild.Get(settings);

        Assert.Equal("1,nails", File.ReadAllText(Path.Combine(child, "data", "orders.csv")));
        Assert.Equal("code", File.ReadAllText(Path.Combine(child, "libshop.so")));
        Assert.False(Path.Exists(Path.Combine(child, "old.txt")) || new FileInfo(Path.Combine(child, "old.txt")).LinkTarget is not null);
    }

    [Fact]
    public void TheSettingsAreThoseOfTheAssembly()
    {
        ChildSettings settings = Settings(0);
        File.WriteAllText(Path.Combine(Bin, "Base.Tests" + ChildSettings.Extension), settings.Text.Replace("framework=net10.0", "framework=net9.0", StringComparison.Ordinal));

        Assert.Equal("net10.0", ChildSettings.Find("Shop.Tests", "a test", Bin).Value("framework"));
        Assert.Equal("net9.0", ChildSettings.Find("Base.Tests", "a test", Bin).Value("framework"));
        var other = Assert.Throws<PublishedTestException>(() => ChildSettings.Find("Shop", "a test", Bin));
        Assert.Contains("a test cannot run in the published child", other.Message);
        Assert.Contains("Base.Tests", other.Message);
    }

    [Fact]
    public void TheFrameworksAreThoseOfTheTests()
    {
        File.WriteAllText(
            Path.Combine(Bin, "Shop.Tests.runtimeconfig.json"),
            """{"runtimeOptions":{"frameworks":[{"name":"Microsoft.NETCore.App","version":"10.0.0"},{"name":"Microsoft.AspNetCore.App","version":"10.0.0"}]}}""");

        Assert.Contains("<FrameworkReference Include=\"Microsoft.AspNetCore.App\" />", ChildProject.Text(Settings(0)));
        Assert.DoesNotContain("Microsoft.NETCore.App", ChildProject.Text(Settings(0)));
    }

    /// <summary>A killed run of tests: no child of it is left.</summary>
    [Fact]
    public async Task AChildEndsWithItsParent()
    {
        string call = Path.Combine(_root, "call"), child = PublishedChild.Get(ChildSettings.Find("Testing.Tests", "this test"));
        File.WriteAllBytes(call, TestCall.Write((Action)WaitForEver, Assertion.None, 0));
        var start = new ProcessStartInfo("/bin/sh", ["-c", "\"$0\" \"$1\" \"$1.answer\" $$ & wait", child, call]) { RedirectStandardOutput = true };
        using Process parent = Process.Start(start)!;
        Assert.Equal("waiting", await parent.StandardOutput.ReadLineAsync());
        parent.Kill();
        await parent.WaitForExitAsync();

        // Its output ends with it.
        await parent.StandardOutput.ReadToEndAsync().WaitAsync(TimeSpan.FromMinutes(2));
        Assert.False(File.Exists(call + ".answer"));
    }

    [Fact]
    public void AChildWhoseParentIsGoneDoesNothing()
    {
        using Process child = Process.Start(new ProcessStartInfo(PublishedChild.Get(ChildSettings.Find("Testing.Tests", "this test")), [Path.Combine(_root, "call"), Path.Combine(_root, "answer"), "1"]))!;
        child.WaitForExit();

        Assert.Equal(2, child.ExitCode);
        Assert.False(File.Exists(Path.Combine(_root, "answer")));
    }

    private static void WaitForEver()
    {
        Console.WriteLine("waiting");
        Thread.Sleep(Timeout.Infinite);
    }

    // What 'dotnet publish PROJECT -nologo -v quiet -o OUTPUT …' makes: the test assembly itself, which tells which one it was.
    private ChildSettings Settings(int run) => Settings("mkdir -p \"$7\" && cp \"$bin/Shop.Tests.dll\" \"$7/freehold-test-child\"", run);

    private ChildSettings Settings(string script, int run)
    {
        string program = Path.Combine(_root, $"dotnet{run}");
        File.WriteAllText(program + ".sh", $"#!/bin/sh\nbin='{Bin}'\necho run >> '{Log}'\n{script}\n");
        // Made by another process: a file that this one has just written may be open in a child that another test is starting, and then cannot be executed.
        using (Process copy = Process.Start("/bin/sh", ["-c", "cp \"$0.sh\" \"$0\" && chmod +x \"$0\"", program]))
            copy.WaitForExit();
        File.WriteAllText(Path.Combine(Bin, "Shop.Tests" + ChildSettings.Extension), $"work={Work}\ndotnet={program}\nframework=net10.0\nversion=0.1.0\n");
        return ChildSettings.Find("Shop.Tests", "a test", Bin);
    }
}
