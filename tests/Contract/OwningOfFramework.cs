using System.Collections;
using System.Globalization;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Text.RegularExpressions;
using System.Xml.Linq;

namespace Freehold.Contract;

/// <summary>Objects that the framework gives to all who ask: no deletion takes them, whether the program names them or they are elements or parts.</summary>
internal static class OwningOfFramework
{
    public static IEnumerable<Case> All()
    {
        yield return new("owned-objects-of-the-framework", _ => Shared());
        yield return new("owned-objects-of-the-framework-as-elements", _ => Elements());
        yield return new("owned-objects-that-the-framework-was-given", _ => Given());
    }

    private enum Colour
    {
        Red,
        Green,
    }

    private sealed class Holder
    {
        [Owned]
        public object? Part;
    }

    // Each asks anew, and says what it has by its text.
    private static IEnumerable<(string Name, Func<object> Get, Func<object, string> Read)> Subjects()
    {
        yield return ("match", () => Regex.Match("a", "b"), value => ((Match)value).Success.ToString());
        yield return ("group", () => Regex.Match("a", "a").Groups["none"], value => ((Group)value).Success.ToString());
        yield return ("number", () => Number(5), value => (string)value);
        yield return ("last-small-number", () => Number(299), value => (string)value);
        yield return ("name-of-enumeration", () => Name(Colour.Green), value => (string)value);
        yield return ("names-of-enumeration", () => Enum.GetNames<Colour>()[1], value => (string)value);
        yield return ("interned", () => string.Intern(string.Concat("int", Number(1000))), value => (string)value);
        yield return ("task", () => Task.CompletedTask, value => ((Task)value).IsCompletedSuccessfully.ToString());
        yield return ("task-of-bool", () => Task.FromResult(true), value => ((Task<bool>)value).Result.ToString());
        yield return ("task-of-number", () => Task.FromResult(3), value => ((Task<int>)value).Result.ToString(CultureInfo.InvariantCulture));
        yield return ("task-of-method", () => Finished(), value => ((Task<int>)value).Result.ToString(CultureInfo.InvariantCulture));
        yield return ("culture", () => CultureInfo.InvariantCulture, value => ((CultureInfo)value).NumberFormat.NumberDecimalSeparator);
        yield return ("name-of-a-day", () => CultureInfo.InvariantCulture.DateTimeFormat.DayNames[1], value => (string)value);
        yield return ("method", () => typeof(Holder).GetConstructors()[0], value => ((ConstructorInfo)value).Name);
        yield return ("field", () => typeof(Holder).GetFields()[0], value => ((FieldInfo)value).Name);
        yield return ("assembly", () => typeof(Holder).Assembly, value => ((Assembly)value).GetName().Name!);
        yield return ("xml-name", () => XName.Get("a", "b"), value => value.ToString()!);
        yield return ("xml-namespace", () => XNamespace.Get("c"), value => value.ToString()!);
        yield return ("comparer", () => StringComparer.OrdinalIgnoreCase, value => ((StringComparer)value).Equals("a", "A").ToString());
        yield return ("comparer-of-numbers", () => Comparer<int>.Default, value => ((Comparer<int>)value).Compare(1, 2).ToString(CultureInfo.InvariantCulture));
        yield return ("encoding", () => System.Text.Encoding.UTF8, value => ((System.Text.Encoding)value).GetString([65]));
        yield return ("pool", () => System.Buffers.ArrayPool<byte>.Shared, value => (((System.Buffers.ArrayPool<byte>)value).Rent(1).Length > 0).ToString());
        yield return ("random", () => Random.Shared, value => (((Random)value).Next(1) == 0).ToString());
        yield return ("scheduler", () => TaskScheduler.Default, value => (((TaskScheduler)value).MaximumConcurrencyLevel > 0).ToString());
        yield return ("zone", () => TimeZoneInfo.Utc, value => ((TimeZoneInfo)value).Id);
        yield return ("address", () => System.Net.IPAddress.Loopback, value => value.ToString()!);
        yield return ("verb", () => HttpMethod.Get, value => value.ToString()!);
        yield return ("stream", () => Stream.Null, value => ((Stream)value).CanRead.ToString());
        yield return ("empty-list", () => ImmutableEmpty(), value => ((ICollection)value).Count.ToString(CultureInfo.InvariantCulture));
        yield return ("variable", () => Environment.GetEnvironmentVariables()["PATH"] ?? "none", value => (((string)value).Length > 0).ToString());
        yield return ("argument", () => Environment.GetCommandLineArgs()[0], value => (((string)value).Length > 0).ToString());
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static string Number(int number) => number.ToString(CultureInfo.InvariantCulture);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static string Name(Colour colour) => colour.ToString();

    private static object ImmutableEmpty() => System.Collections.Immutable.ImmutableList<int>.Empty;

    private static async Task<int> Finished()
    {
        await Task.CompletedTask;
        return 4;
    }

    private static void Shared()
    {
        var failures = new List<string>();
        foreach ((string name, Func<object> get, Func<object, string> read) in Subjects())
        {
            string before = read(get());
            if (!ReferenceEquals(get(), get()))
                failures.Add($"{name}: not one for all");
            for (int i = 0; i < 2; i++)
            {
                // What lies in no page of the heap is refused.
                try
                {
                    Heap.Delete(get());
                    if (Heap.DeleteGraph(get()).Objects != 0)
                        failures.Add($"{name}: was deleted as a graph");
                }
                catch (ArgumentException)
                {
                }
            }
            if (IsKnownGone(get()))
                failures.Add($"{name}: was deleted");
            Heap.Delete(new Holder { Part = get() });
            Expect.Equal(before, read(get()));
        }
        Expect.Equal("", string.Join(", ", failures));
        Heap.Reclaim();
        foreach ((_, Func<object> get, Func<object, string> read) in Subjects())
            Expect.Equal(read(get()), read(get()));
    }

    // A second deletion throws if the first has deleted.
    private static bool IsKnownGone(object value)
    {
        try
        {
            Heap.Delete(value);
            return false;
        }
        catch (ArgumentException)
        {
            return false;
        }
        catch (Exception exception) when (exception is DoubleDeleteException or DanglingReferenceException)
        {
            return true;
        }
    }

    private sealed class Order
    {
        public int Count = 1;
    }

    private static void Elements()
    {
        for (int round = 0; round < 100; round++)
        {
            Heap.DeleteAll(Enumerable.Range(0, 20).Select(i => Regex.Match(i % 2 == 0 ? "x1" : "", "[0-9]")).ToList());
            var orders = new Dictionary<string, Order>();
            for (int i = 290; i < 310; i++)
                orders[Number(i)] = new Order();
            Heap.DeleteAll(orders);
            Heap.DeleteAll(Enum.GetNames<Colour>());
            Heap.DeleteAll(typeof(Holder).GetFields());
            Heap.DeleteAll(CultureInfo.InvariantCulture.DateTimeFormat.MonthNames);
            Heap.DeleteAll(Environment.GetEnvironmentVariables());
            Heap.DeleteAll(Environment.GetCommandLineArgs());
            Heap.DeleteAll(new List<Task> { Task.FromResult(true), Task.CompletedTask, Task.FromResult(3) });
            foreach ((_, Func<object> get, _) in Subjects())
                Heap.DeleteAll(new[] { get(), get() });
            if (round % 50 == 0)
                Heap.Compact();
        }
        for (int i = 0; i < 400; i++)
            Expect.Equal(i, int.Parse(Number(i), CultureInfo.InvariantCulture));
        Expect.Equal("Red, Green", string.Join(", ", Enum.GetNames<Colour>()));
        Expect.True(!Regex.Match("", "[0-9]").Success);
        foreach ((_, Func<object> get, Func<object, string> read) in Subjects())
            Expect.Equal(read(get()), read(get()));
        foreach (DictionaryEntry variable in Environment.GetEnvironmentVariables())
            Expect.Equal((string)variable.Value!, Environment.GetEnvironmentVariable((string)variable.Key)!);
    }

    // What the program gave to a setter is the program's still.
    private static void Given()
    {
        for (int i = 0; i < 10; i++)
        {
            CultureInfo before = CultureInfo.CurrentCulture;
            var own = (CultureInfo)CultureInfo.InvariantCulture.Clone();
            CultureInfo.CurrentCulture = own;
            CultureInfo.CurrentCulture = before;
            Heap.Delete(own);
            Expect.SecondDeleteThrows(own);
            string text = Number(1000 + i);
            Heap.Delete(text);
            Expect.SecondDeleteThrows(text);
        }
    }
}
