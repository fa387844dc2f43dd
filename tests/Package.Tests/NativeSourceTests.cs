using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using Freehold.Tasks;
using Microsoft.Build.Framework;
using Xunit;
using TaskItem = Microsoft.Build.Utilities.TaskItem;

namespace Freehold.Package.Tests;

/// <summary>C and C++ of a program: what the items FreeholdNativeSource make, when it is made again, and how a wrong one is refused.</summary>
[Collection("second machine")]
public sealed class NativeSourceTests : IDisposable
{
    private const string Program = """
        using System;
        using System.Runtime.InteropServices;

        nint kept = Native.Keep(7);
        Console.WriteLine($"handle: {NativeHandle.IsHandle(kept)}");
        Console.WriteLine($"sum: {Native.SumOf(kept)} {Native.Triple(5)} {Native.Length("four")}");
        Native.Drop(kept);

        static partial class Native
        {
            [DllImport("sample", EntryPoint = "keep")] public static extern nint Keep(int count);
            [DllImport("sample", EntryPoint = "sum_of")] public static extern long SumOf(nint kept);
            [DllImport("sample", EntryPoint = "drop")] public static extern void Drop(nint kept);
            [DllImport("sample", EntryPoint = "triple")] public static extern int Triple(int number);
            [DllImport("plain", EntryPoint = "length_of")] public static extern int Length(string text);
        }
        """;

    private const string Kept = """
        #include "shared.h"
        #include <stdlib.h>
        struct kept { int count; int numbers[]; };
        struct kept* keep(int count) {
          struct kept* made = malloc(sizeof *made + sizeof(int) * (unsigned)count);
          made->count = count;
          for (int i = 0; i < count; i++) made->numbers[i] = i * FACTOR;
          return made;
        }
        long sum_of(const struct kept* kept) {
          long sum = 0;
          for (int i = 0; i < kept->count; i++) sum += kept->numbers[i];
          return sum;
        }
        void drop(struct kept* kept) { free(kept); }
        """;

    private const string Triple = """
        #include <memory>
        #include <vector>
        extern "C" int triple(int number) {
          auto numbers = std::make_unique<std::vector<int>>();
          for (int i = 0; i < 3; i++) numbers->push_back(number);
          int sum = 0;
          for (int one : *numbers) sum += one;
          return sum;
        }
        """;

    private readonly PackageFixture _machine;
    private readonly string _folder;

    public NativeSourceTests(PackageFixture machine)
    {
        _machine = machine;
        _folder = Directory.CreateDirectory(Path.Combine(machine.Root, "native sources " + Guid.NewGuid().ToString("N")[..8])).FullName;
    }

    /// <summary>Items that are refused: the id, the item's name, its metadata, and what the message says.</summary>
    public static TheoryData<string, string, string, string, string> Refused => new()
    {
        { "FH0017", "none.c", "", "", "none.c" },
        { "FH0017", "notes.txt", "", "", "is no source in C or C++" },
        { "FH0017", "good.c", "Handles", "yes", "neither true nor false" },
        { "FH0017", "good.c", "Library", "a/b", "'a/b'" },
        { "FH0019", "wrong.c", "", "", "undeclared" },
        { "FH0019", "undefined.c", "", "", "nobody_defines_this" },
        { "FH0019", "good.c", "Options", "--no-such-option", "no-such-option" },
        { "FH0019", "wrong.c", "Handles", "true", "undeclared" },
    };

    private static string Handles { get; } = Path.Combine(PackageFixture.Feed, "../../stage/tools/linux-x64/handles");

    /// <inheritdoc />
    public void Dispose() => Directory.Delete(_folder, recursive: true);

    /// <summary>As a user writes it. The folder's name has spaces.</summary>
    [Fact]
    public void AProgramReachesItsCAndCxx()
    {
        const string Items = """
            <FreeholdNativeSource Include="native/**/*.c;native/**/*.cpp" Handles="true" Options="-I &quot;native/an include&quot;" />
            <FreeholdNativeSource Include="plain.c" Library="plain" />
            """;
        var project = new SampleProject(_machine, items: Items, source: Program);
        Write(project.Folder, "native/deep/kept.c", Kept);
        Write(project.Folder, "native/triple.cpp", Triple);
        Write(project.Folder, "native/an include/shared.h", "#define FACTOR 2\n");
        Write(project.Folder, "plain.c", "#include <string.h>\nint length_of(const char* text) { return (int)strlen(text); }\n");
        CommandResult publish = project.Publish();
        Assert.True(publish.ExitCode == 0, publish.Output);
        Assert.DoesNotContain("warning", publish.Output, StringComparison.Ordinal);
        CommandResult run = project.Run();
        Assert.True(run.ExitCode == 0, run.Output);
        Assert.Equal("handle: True\nsum: 42 15 4", run.Output.Trim().ReplaceLineEndings("\n"));
        string published = Path.GetDirectoryName(project.Executable)!;
        Assert.Equal(["libfreehold_handles.so", "libplain.so", "libsample.so"], Directory.EnumerateFiles(published, "*.so").Select(Path.GetFileName).Order(StringComparer.Ordinal));
        Assert.DoesNotContain(_machine.Packages, Command.Tool("readelf", "-d", Path.Combine(published, "libsample.so")), StringComparison.Ordinal);

        // Without Freehold the same program, whose C has no handles.
        CommandResult stock = project.Publish("-p:FreeholdEnabled=false", "-o", Path.Combine(project.Folder, "stock"));
        Assert.True(stock.ExitCode == 0, stock.Output);
        run = Command.Run(project.Folder, new Dictionary<string, string?>(), Path.Combine(project.Folder, "stock/sample"));
        Assert.Equal("handle: False\nsum: 42 15 4", run.Output.Trim().ReplaceLineEndings("\n"));
        Assert.False(File.Exists(Path.Combine(project.Folder, "stock/libfreehold_handles.so")));
    }

    /// <summary>An error stops the publish before ilc, with file and line.</summary>
    [Fact]
    public void AnErrorHasItsPlace()
    {
        var project = new SampleProject(_machine, items: """<FreeholdNativeSource Include="*.c" />""");
        Write(project.Folder, "wrong.c", "int one(void) { return 1; }\nint two(void) { return three; }\n");
        CommandResult publish = project.Publish();
        Assert.NotEqual(0, publish.ExitCode);
        Assert.Matches(@"wrong\.c\(2,\d+\): error FH0019: .*'three'", publish.Output);
        Assert.False(File.Exists(project.Executable));
        Assert.DoesNotContain("Generating native code", publish.Output, StringComparison.Ordinal);
    }

    [Theory]
    [MemberData(nameof(Refused))]
    public void AnItemIsRefused(string id, string file, string metadata, string value, string message)
    {
        Write(_folder, "notes.txt", "");
        Write(_folder, "good.c", "int good(void) { return 1; }\n");
        Write(_folder, "wrong.c", "int wrong(void) { return undeclared; }\n");
        Write(_folder, "undefined.c", "int nobody_defines_this(void);\nint undefined(void) { return nobody_defines_this(); }\n");
        TaskItem item = Item(file);
        if (metadata.Length != 0)
        {
            item.SetMetadata(metadata, value);
        }

        (bool good, _, RecordingBuildEngine engine) = Compile([item]);
        Assert.False(good);
        Assert.Equal(id, engine.Errors.First());
        Assert.Contains(message, string.Join('\n', engine.Messages), StringComparison.Ordinal);
        Assert.False(File.Exists(Path.Combine(_folder, "obj/libtested.so.key")), "what failed counts as made");
    }

    [Fact]
    public void AFileThatIsThereTwiceIsRefused()
    {
        Write(_folder, "good.c", "int good(void) { return 1; }\n");
        (bool good, _, RecordingBuildEngine engine) = Compile([Item("good.c"), Item("good.c")]);
        Assert.False(good);
        Assert.Equal(["FH0017"], engine.Errors);

        // Two libraries may have it.
        TaskItem other = Item("good.c");
        other.SetMetadata("Library", "other");
        Assert.True(Compile([Item("good.c"), other]).Good);
    }

    /// <summary>Both kinds would share inline functions and templates, whichever the linker keeps.</summary>
    [Fact]
    public void ALibraryHasCxxOfOneKind()
    {
        Write(_folder, "one.cpp", "int one() { return 1; }\n");
        Write(_folder, "two.cpp", "int two() { return 2; }\n");
        Write(_folder, "three.c", "int three(void) { return 3; }\n");
        TaskItem one = Item("one.cpp"), three = Item("three.c");
        one.SetMetadata("Handles", "true");
        three.SetMetadata("Handles", "true");
        (bool good, _, RecordingBuildEngine engine) = Compile([one, Item("two.cpp")]);
        Assert.False(good);
        Assert.Equal(["FH0017"], engine.Errors);
        Assert.Contains("one.cpp", engine.Messages[0], StringComparison.Ordinal);

        Assert.True(Compile([three, Item("two.cpp")]).Good);
        one.SetMetadata("Library", "other");
        Assert.True(Compile([one, Item("two.cpp")]).Good);
    }

    /// <summary>No compiler, one of another version, a package without the compiler of handles.</summary>
    [Fact]
    public void AMissingCompilerIsSaid()
    {
        Write(_folder, "good.c", "int good(void) { return 1; }\n");
        string old = Path.Combine(_folder, "old-clang");
        File.WriteAllText(old, "#!/bin/sh\necho Debian clang version 14.0.6\n");
        Command.Tool("chmod", "+x", old);
        TaskItem handles = Item("good.c");
        handles.SetMetadata("Handles", "true");
        foreach ((TaskItem item, string clang, string package, string message) in new[]
        {
            (Item("good.c"), "no-such-clang", Handles, "none of 'no-such-clang' runs"),
            (handles, old, Handles, "Debian clang version 14.0.6"),
            (handles, "", _folder, "has no compiler of handles"),
        })
        {
            (bool good, _, RecordingBuildEngine engine) = Compile([item], clang: clang, package: package);
            Assert.False(good);
            Assert.Equal(["FH0018"], engine.Errors);
            Assert.Contains(message, engine.Messages[0], StringComparison.Ordinal);
        }
    }

    /// <summary>An object is made again when what it was made of has changed, and then only.</summary>
    [Fact]
    public void OnlyWhatHasChangedIsMadeAgain()
    {
        Write(_folder, "a.c", "#include \"a b.h\"\nint a(void) { return NUMBER; }\n");
        Write(_folder, "b.c", "int unused(void) { int never; return 2; }\n");
        Write(_folder, "a b.h", "#define NUMBER 1\n");
        string options = "";
        Dictionary<string, DateTime> before = Make();
        Assert.Equal(2, before.Count(one => one.Key.EndsWith(".o", StringComparison.Ordinal)));
        Assert.Single(before, one => one.Key.EndsWith(".so", StringComparison.Ordinal));
        Assert.Empty(Changed());

        // Times alone are nothing; a checkout changes them.
        File.SetLastWriteTimeUtc(Path.Combine(_folder, "a.c"), DateTime.UtcNow.AddHours(1));
        Assert.Empty(Changed());
        Write(_folder, "a b.h", "#define NUMBER 3\n");
        Assert.Equal(["a", "libtested"], Changed());
        Write(_folder, "b.c", "int unused(void) { int never; return 3; }\n");
        Assert.Equal(["b", "libtested"], Changed());
        options = "-DX=\"two words\"";
        // Their bytes are the same as before, so the library stays.
        Assert.Equal(["a", "b"], Changed());

        // A build that was ended in between, and one whose library somebody deleted.
        File.Delete(before.Keys.First(one => one.EndsWith(".so", StringComparison.Ordinal)) + ".key");
        Assert.Equal(["libtested"], Changed());
        File.Delete(before.Keys.First(one => one.EndsWith(".so", StringComparison.Ordinal)));
        Assert.Equal(["libtested"], Changed());
        Assert.Empty(Changed());

        Dictionary<string, DateTime> Make()
        {
            TaskItem[] items = [Item("a.c"), Item("b.c")];
            foreach (TaskItem item in items)
            {
                item.SetMetadata("Options", "-Wall " + options);
            }

            (bool good, ITaskItem[] libraries, RecordingBuildEngine engine) = Compile(items);
            Assert.True(good, string.Join('\n', engine.Messages));
            Assert.Equal(["libtested.so"], libraries.Select(library => library.GetMetadata("RelativePath")));

            // Told each time.
            Assert.Equal(["FH0020"], engine.Warnings);
            return Directory.EnumerateFiles(Path.Combine(_folder, "obj"), "*.*o", SearchOption.AllDirectories).ToDictionary(file => file, File.GetLastWriteTimeUtc);
        }

        string[] Changed()
        {
            Dictionary<string, DateTime> now = Make();
            string[] changed = [.. now.Where(one => one.Value != before[one.Key]).Select(one => Path.GetFileNameWithoutExtension(one.Key).Split('-')[0]).Order(StringComparer.Ordinal)];
            before = now;
            return changed;
        }
    }

    /// <summary>What only the linker reads: archives by their path and by <c>-l</c>, a version script, a file of options.</summary>
    [Theory]
    [InlineData("")]
    [InlineData(" -fuse-ld=lld")]
    public void ALibraryIsLinkedAgainWhenWhatItWasLinkedWithChanges(string linker)
    {
        const string Options = "-Wl,--version-script=\"a map\" \"an archive.a\" -L. -lother @options";
        Write(_folder, "a.c", "int far(void);\nint near(void);\nint more(void);\nint a(void) { return near() + far() + more(); }\n");
        Write(_folder, "a map", "{ global: a; local: *; };\n");
        Write(_folder, "options", "more.a\n");
        Archive("an archive.a", "int near(void) { return 1; }\n");
        Archive("libother.a", "int far(void) { return 2; }\n");
        Archive("more.a", "int more(void) { return 3; }\n");
        Archive("none.a", "int none(void) { return 4; }\n");
        Assert.True(Linked());
        Assert.False(Linked());
        Archive("an archive.a", "int near(void) { return 10; }\n");
        Assert.True(Linked());
        Archive("libother.a", "int far(void) { return 20; }\n");
        Assert.True(Linked());
        Archive("more.a", "int more(void) { return 30; }\n");
        Assert.True(Linked());
        Write(_folder, "a map", "{ global: a; more; local: *; };\n");
        Assert.True(Linked());
        Assert.Contains(" more\n", Command.Tool("nm", "-D", "--defined-only", Path.Combine(_folder, "obj/libtested.so")), StringComparison.Ordinal);
        Write(_folder, "options", "more.a none.a\n");
        Assert.True(Linked());
        Assert.False(Linked());

        bool Linked()
        {
            string library = Path.Combine(_folder, "obj/libtested.so");
            DateTime before = File.Exists(library) ? File.GetLastWriteTimeUtc(library) : default;
            (bool good, _, RecordingBuildEngine engine) = Compile([Item("a.c")], linkOptions: Options + linker);
            Assert.True(good, string.Join('\n', engine.Messages));
            return File.GetLastWriteTimeUtc(library) != before;
        }

        void Archive(string name, string source)
        {
            Write(_folder, "part.c", source);
            Command.Tool("clang", "-c", "-fPIC", Path.Combine(_folder, "part.c"), "-o", Path.Combine(_folder, "part.o"));
            File.Delete(Path.Combine(_folder, name));
            Command.Tool("ar", "rcs", Path.Combine(_folder, name), Path.Combine(_folder, "part.o"));
        }
    }

    /// <summary>The compiler may have read a file before it was saved: the next build makes the object again, and the one after that does not.</summary>
    [Theory]
    [InlineData("a.c", "printf 'int a(void) { return 2; }\\n' > a.c")]
    [InlineData("a.h", "printf '#define NUMBER 2\\n' > a.h")]
    [InlineData("a.h, given another name", "mv later.h a.h")]
    [InlineData("a.h, with an old time", "printf '#define NUMBER 2\\n' > a.h; touch -d 2020-01-01 a.h")]
    [InlineData("an archive", "cp later.a part.a")]
    public void WhatIsSavedWhileItIsReadIsReadAgain(string what, string save)
    {
        Write(_folder, "a.c", "#include \"a.h\"\nint part(void);\nint a(void) { return NUMBER + part(); }\n");
        Write(_folder, "a.h", "#define NUMBER 1\n");
        Write(_folder, "later.h", "#define NUMBER 2\n");
        foreach ((string name, int number) in new[] { ("part", 1), ("later", 2) })
        {
            Write(_folder, $"{name}.c", $"int part(void) {{ return {number}; }}\n");
            Command.Tool("clang", "-c", "-fPIC", Path.Combine(_folder, $"{name}.c"), "-o", Path.Combine(_folder, $"{name}.o"));
            Command.Tool("ar", "rcs", Path.Combine(_folder, $"{name}.a"), Path.Combine(_folder, $"{name}.o"));
        }

        // The compiler reads, and before it ends somebody saves, once.
        string saving = Path.Combine(_folder, "saving-clang");
        File.WriteAllText(saving, $"#!/bin/sh\nclang \"$@\" || exit\ncase \"$*\" in *\"{(what == "an archive" ? "-shared" : " -c ")}\"*) [ -e saved ] || {{ touch saved; {save}; }};; esac\n");
        Command.Tool("chmod", "+x", saving);
        string library = Path.Combine(_folder, "obj/libtested.so");
        Make();
        Assert.True(File.Exists(Path.Combine(_folder, "saved")));
        DateTime first = File.GetLastWriteTimeUtc(library);
        Make();
        DateTime second = File.GetLastWriteTimeUtc(library);
        Assert.True(first != second, $"{what}: taken as up to date");
        Make();
        Assert.True(second == File.GetLastWriteTimeUtc(library), $"{what}: made again for nothing");

        void Make()
        {
            (bool good, _, RecordingBuildEngine engine) = Compile([Item("a.c")], clang: saving, linkOptions: "part.a");
            Assert.True(good, string.Join('\n', engine.Messages));
        }
    }

    [Theory]
    [InlineData("x.so: \\\n  there.a \\\n  with space.a \\\n  gone.o\n\nthere.a:\n", "there.a|with space.a")]
    [InlineData("x.so: \\\n with\\ space.a \\\n there.a\n\nwith\\ space.a:\n", "with space.a|there.a")]
    [InlineData("", "")]
    public void RulesOfLinkersAreRead(string rule, string expected)
    {
        Write(_folder, "there.a", "");
        Write(_folder, "with space.a", "");
        Assert.Equal(expected.Split('|', StringSplitOptions.RemoveEmptyEntries), NativeObject.ReadLinkersRule(rule.Split('\n'), _folder));
    }

    [Theory]
    [InlineData("a.o: a.c b.h\n", "a.c b.h")]
    [InlineData("a.o: /x/a\\ b.c \\\n  c.h\\\r\n d.h", "/x/a b.c|c.h|d.h")]
    [InlineData("a.o: d$$.c e\\#.h", "d$.c e#.h")]
    [InlineData("a.o:\n", "")]
    [InlineData("", "")]
    public void RulesOfMakeAreRead(string rule, string expected) =>
        Assert.Equal(expected.Split(expected.Contains('|', StringComparison.Ordinal) ? '|' : ' ', StringSplitOptions.RemoveEmptyEntries), NativeObject.ReadRule(rule));

    [Theory]
    [InlineData("", "")]
    [InlineData("  -a  -b ", "-a|-b")]
    [InlineData("-I \"a b\" -DX=\"1 2\"3", "-I|a b|-DX=1 23")]
    [InlineData("\"\"", "<empty>")]
    public void OptionsAreSplit(string text, string expected) =>
        Assert.Equal(expected == "<empty>" ? [""] : expected.Split('|', StringSplitOptions.RemoveEmptyEntries), NativeSource.Split(text));

    private static void Write(string folder, string file, string text)
    {
        string path = Path.Combine(folder, file);
        Directory.CreateDirectory(Path.GetDirectoryName(path)!);
        File.WriteAllText(path, text);
    }

    private TaskItem Item(string file) => new(Path.Combine(_folder, file));

    private (bool Good, ITaskItem[] Libraries, RecordingBuildEngine Engine) Compile(ITaskItem[] items, string clang = "", string? package = null, string linkOptions = "")
    {
        var engine = new RecordingBuildEngine();
        using var task = new CompileNativeSources
        {
            BuildEngine = engine,
            Sources = items,
            Library = "tested",
            OutputDirectory = Path.Combine(_folder, "obj"),
            ProjectDirectory = _folder,
            HandleCompiler = package ?? Handles,
            Clang = clang,
            LinkOptions = linkOptions,
            HelpLink = "errors.md",
        };
        return (task.Execute(), task.Libraries, engine);
    }
}
