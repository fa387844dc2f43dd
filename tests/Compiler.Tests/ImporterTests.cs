using System.Linq;
using Freehold.Rewriter;
using Mono.Cecil;
using Mono.Cecil.Cil;
using Xunit;

namespace Freehold.Compiler.Tests;

/// <summary>Members of an assembly in C# are copied into another, where they run; what the other lacks is an error that names it.</summary>
public sealed class ImporterTests
{
    private const string Framework = """
        public static class Table
        {
            internal static int s_count = 40;
            internal static int Twice(int value) => 2 * value;
            internal static long Twice(long value) => -1;
            public static int Old(int value) => 0;
            public const int Limit = 7;
        }
        public class Box<T>
        {
            internal T _value;
            internal Box(T value) => _value = value;
            internal T Get() => _value;
            internal U Convert<U>(Convert<T, U> how) => how(_value);
        }
        public delegate U Convert<T, U>(T value);
        public class Failure : Exception { public int Number; }
        public abstract class Shape { public abstract int Sides(); public int Twice() => 2 * Sides(); }
        public struct Pair { public int First; internal int Sum(int more) => First + more; }
        """;

    // A core library of its own, as CoreLib is.
    private const string CoreLib = """
        public delegate int Convert(int value);
        public static class Table { internal static int Apply(Convert how) => how(1); }
        namespace System
        {
            public class Object { } public class String { } public abstract class ValueType { } public struct Void { } public struct Int32 { } public struct Boolean { } public struct IntPtr { }
            public abstract class Enum : ValueType { } public abstract class Delegate { } public abstract class MulticastDelegate : Delegate { } public class Attribute { } public enum AttributeTargets { All = 1 }
            public sealed class AttributeUsageAttribute : Attribute { public AttributeUsageAttribute(AttributeTargets on) { } public bool AllowMultiple { get; set; } public bool Inherited { get; set; } }
        }
        """;

    // What the first of them has, as the source declares it.
    private const string Declarations = """
        [Framework] static class Table
        {
            internal static int s_count;
            internal static extern int Twice(int value);
            [Framework("Twice")] internal static extern long TwiceLong(long value);
            internal const int Limit = 7;
            [Replacement] public static int Old(int value) { s_count += value; return Added.Helper(s_count); }
            [Injected] internal static int s_new;
            [Injected] internal static int Bump() => ++s_new + s_count;
        }
        [Framework] class Box<T>
        {
            internal T _value;
            internal extern Box(T value);
            internal extern T Get();
            internal extern U Convert<U>(Convert<T, U> how);
            [Framework(".ctor")] internal extern void Construct(T value);
        }
        [Framework] delegate U Convert<T, U>(T value);
        [Framework] class Failure : Exception { public int Number; public extern Failure(); }
        [Framework] abstract class Shape { protected extern Shape(); public abstract int Sides(); public extern int Twice(); }
        [Framework] struct Pair { public int First; internal extern int Sum(int more); }
        """;

    [Fact]
    public void Private_fields_and_methods_are_reached() => Check(42 + 84, """
        public static int Run(int value) { int sum = 0; for (int i = 0; i < value; i++) { sum += Table.s_count - 39; } return Table.Twice(sum) + sum; }
        """, 42);

    [Fact]
    public void Overloads_are_told_apart_by_their_signatures() => Check(-1L, "public static long Run() => Table.TwiceLong(3);");

    [Fact]
    public void Members_of_generic_types_and_generic_methods_are_reached() => Check(5 + 30 + 1, """
        public static int Run() { var box = Make<int>(5); box._value = box.Get(); return box.Get() + box.Convert<int>(Times) + Generic<string>.Is("x") + Kind<Shape>(null); }
        private static int Times(int value) => 6 * value;
        private static int Kind<T>(T shape) where T : Shape => shape is null ? 0 : shape.Sides();
        private static Box<T> Make<T>(T value) => new Box<T>(value);
        private static class Generic<T> where T : class { internal static int Is(T value) => value is null ? 0 : 1; }
        """);

    [Fact]
    public void Handlers_are_copied() => Check(17_28, """
        private static int s_log;
        public static int Run() { Try(7); Try(8); return s_log; }
        private static void Try(int number)
        {
            try
            {
                try { throw new Failure { Number = number }; }
                catch (Failure failure) when (failure.Number == 8) { Log(2); throw; }
                finally { if (number == 7) { Log(1); } }
            }
            catch (Failure failure) { Log(failure.Number); }
        }
        private static void Log(int digit) => s_log = s_log * 10 + digit;
        """);

    [Fact]
    public void Types_that_override_are_copied_whole() => Check(6 + 10, """
        public static int Run() { Shape shape = new Triangle(); return shape.Twice() + new Triangle.Inner { Value = 10 }.Value; }
        private sealed class Triangle : Shape { public override int Sides() => Count; private int Count => 3; internal sealed class Inner : Shape { public int Value; public override int Sides() => Value; } }
        """);

    [Fact]
    public void Functions_without_a_name_are_copied_with_their_class()
    {
        ImportFixture fixture = new(CoreLib, """
            [Framework("Convert")] delegate int Change(int value);
            [Framework] static class Table { internal static extern int Apply(Change how); }
            static class Added { public static int Run() => Table.Apply(inner => inner * 3); }
            """, coreLib: true);
        fixture.Importer.Method("Added", "Run");
        TypeDefinition functions = Assert.Single(fixture.Module.GetType("Added").NestedTypes);
        Assert.Equal(2, functions.Fields.Count(field => field.IsStatic));
        Assert.Contains(functions.Methods, method => method is { IsConstructor: true, IsStatic: true });
        Assert.Contains("System.Object::.ctor()", IlText.Format(functions.Methods.Single(method => method is { IsConstructor: true, IsStatic: false })));
        Assert.Contains("newobj System.Void Convert::.ctor(System.Object,System.IntPtr)", IlText.Format(fixture.Importer.Method("Added", "Run")));
        Assert.Same(fixture.Module, functions.BaseType.Module);
    }

    [Fact]
    public void Types_of_the_framework_get_members() => Check(41 + 42, "public static int Run() => Table.Bump() + Table.Bump();");

    [Fact]
    public void Structs_are_called_by_reference() => Check(11, "public static int Run() { Pair pair = default; pair.First = 5; return pair.Sum(6); }");

    [Fact]
    public void A_constructor_with_another_name_is_called_for_what_exists() => Check("b", """
        public static string Run() { var box = new Box<string>("a"); box.Construct("b"); return box.Get(); }
        """);

    [Theory]
    [InlineData(3, 4)]
    [InlineData(4, 6)]
    public void An_instruction_stands_in_place_of_a_call(int value, int expected) => Check(expected, """
        [Instruction("or")] private static extern int Or(int left, int right);
        [Instruction("")] private static extern int Same(int value);
        public static int Run(int value) => Same((value & 1) == 0 ? Or(value, 2) : value + 1);
        """, value);

    [Fact]
    public void A_method_of_the_framework_gets_a_new_body()
    {
        ImportFixture fixture = new(Framework, Declarations + "static class Added { internal static int Helper(int value) => value * 10; }");
        MethodDefinition replaced = fixture.Importer.Replace("Table", "Old");
        Assert.Same(fixture.Module.GetType("Table").Methods.Single(method => method.Name == "Old"), replaced);
        Assert.Equal(420, fixture.Run("Table", "Old", 2));
        Assert.Contains("is no replacement", Assert.Throws<RewriteException>(() => fixture.Importer.Replace("Added", "Helper")).Message);
    }

    [Fact]
    public void A_member_is_copied_once_and_only_when_it_is_needed()
    {
        ImportFixture fixture = Added("public static int Run() => Used() + Used(); private static int Used() => 1; private static double Unused() => Math.Sqrt(2);");
        MethodDefinition run = fixture.Importer.Method("Added", "Run");
        Assert.Same(run, fixture.Importer.Method("Added", "Run"));
        Assert.Equal(["Run", "Used"], fixture.Module.GetType("Added").Methods.Select(method => method.Name).Order());
    }

    [Fact]
    public void A_pass_fills_a_method_that_has_no_body()
    {
        ImportFixture fixture = Added("[FilledByPass] public static extern int Run();");
        MethodDefinition run = fixture.Importer.Method("Added", "Run");
        run.Body.Instructions.Add(Instruction.Create(OpCodes.Ldc_I4_4));
        run.Body.Instructions.Add(Instruction.Create(OpCodes.Ret));
        Assert.Equal(4, fixture.Run("Added", "Run"));
    }

    [Theory]
    [InlineData("Gone: expected a type", "[Framework] static class Gone { internal static int s_x; }", "Gone.s_x")]
    [InlineData("Table::s_gone", "", "Table.s_gone")]
    [InlineData("Table::s_count", "", "Table.s_long")]
    [InlineData("Table::Thrice(System.Int32)", "", "Table.Thrice(1)")]
    [InlineData("Table::Twice(System.Int16)", "", "Table.Twice((short)1)")]
    [InlineData("Table::Twice(System.Int32)", "", "((Instance)null).Twice(1)")]
    [InlineData("System.Math: expected a type", "", "Math.Abs(-1)")]
    [InlineData("Wrong::Limit: expected the constant 8 (found 7)", "", "Wrong.s_count + Wrong.Limit")]
    [InlineData("Pair: expected a class", "", "((PairClass)null).First")]
    public void What_the_framework_does_not_have_is_an_error_that_names_it_and_who_needs_it(string expected, string declaration, string use)
    {
        // Each a declaration of what is otherwise.
        const string Others = """
            [Framework("Table")] class Instance { internal extern int Twice(int value); }
            [Framework("Table")] static class Wrong { internal static int s_count; internal const int Limit = 8; }
            [Framework("Pair")] class PairClass { internal int First; }
            """;
        string table = Declarations.Replace("internal static int s_count;", """
            internal static int s_count; internal static int s_gone; [Framework("s_count")] internal static long s_long;
            internal static extern int Thrice(int value); internal static extern int Twice(short value);
            """);
        string message = new ImportFixture(Framework, table + Others + declaration + $"static class Added {{ internal static int Helper(int value) => value; public static long Run() => {use}; }}").Failure();
        int parenthesis = expected.IndexOf(": expected", System.StringComparison.Ordinal);
        Assert.Contains(parenthesis < 0 ? expected : expected[..parenthesis].Replace("Wrong", "Table"), message);
        if (parenthesis >= 0)
        {
            Assert.Contains(expected[parenthesis..], message);
        }

        Assert.Contains("Added::Run", message);
        Assert.StartsWith("Framework: ", message);
    }

    [Theory]
    [InlineData("Table::Twice", "[Framework] static class Table { [Injected] internal static int Twice(int value) => value; }", "Table.Twice(1)")]
    [InlineData("Table::s_count", "[Framework] static class Table { [Injected] internal static int s_count; }", "Table.s_count")]
    [InlineData("Pair", "struct Pair { public int First; }", "default(Pair).First")]
    public void What_the_framework_has_already_is_not_injected(string expected, string source, string use)
    {
        string message = new ImportFixture(Framework, source + $"static class Added {{ public static int Run() => {use}; }}").Failure();
        Assert.Contains(expected, message);
        Assert.Contains("no such member, as it is to be injected", message);
    }

    [Theory]
    [InlineData("a kind of type that can be copied (found FunctionPointerType)", "public static unsafe int Run() { delegate*<int, int> function = &Helper; return function(1); }")]
    [InlineData("no calls of function pointers", "public static unsafe int Run() => ((delegate*<int>)(void*)Table.s_count)();")]
    [InlineData("cannot be injected", "public static int[] Run() => new int[] { 1, 2, 3, 4, 5 };")]
    [InlineData("a kind of type that can be copied", "public static int Run(int[,] array) => 0;")]
    [InlineData("arrays of one dimension", "public static object Run() => new int[2, 2];")]
    public void What_cannot_be_copied_is_an_error(string expected, string body)
    {
        string message = Added(body).Failure();
        Assert.Contains(expected, message);
    }

    [Fact]
    public void A_name_may_be_that_of_the_version()
    {
        FrameworkNames names = FrameworkNames.Read(OfficialFramework.Main.Names) with { MoveByPointer = "Twice" };
        const string Declared = """[Framework] static class Table { [VersionName("MoveByPointer")] internal static extern int Move(int value); [VersionName("NoEntry")] internal static extern int No(); }""";
        ImportFixture fixture = new(Framework, Declared + "static class Added { public static int Run() => Table.Move(4); public static int Bad() => Table.No(); }", names);
        fixture.Importer.Method("Added", "Run");
        Assert.Equal(8, fixture.Run("Added", "Run"));
        Assert.Contains("NoEntry", fixture.Failure("Bad"));
    }

    private static ImportFixture Added(string body, string more = "") =>
        new(Framework, Declarations + more + $"static class Added {{ internal static int Helper(int value) => value; {body} }}");

    private static void Check(object expected, string body, params object?[] arguments)
    {
        ImportFixture fixture = Added(body);
        fixture.Importer.Method("Added", "Run");
        Assert.Equal(expected, fixture.Run("Added", "Run", arguments));
    }
}
