using System.Diagnostics.CodeAnalysis;
using System.Reflection;

namespace Freehold.Differential.Programs;

/// <summary>Reflection over members, attributes, generic instantiation and proxies.</summary>
internal static partial class ReflectionUse
{
    [AttributeUsage(AttributeTargets.All)]
    private sealed class LabelAttribute(string text) : Attribute
    {
        public string Text { get; } = text;

        public int Rank { get; set; }
    }

    [Label("shape", Rank = 3)]
    [DynamicallyAccessedMembers(DynamicallyAccessedMemberTypes.All)]
    private class Shape
    {
        [Label("sides")]
        public int Sides { get; set; } = 4;

        public string Name = "square";

        private readonly double _area = 2.5;

        public Shape()
        {
        }

        public Shape(int sides, string name)
        {
            Sides = sides;
            Name = name;
        }

        public double Scale(double factor, int times = 2) => _area * factor * times;

        public static string Describe(Shape shape, object? extra) => shape.Name + "/" + shape.Sides + "/" + extra;

        public T Echo<T>(T value) => value;

        public void Fail() => throw new InvalidOperationException("from " + Name);
    }

    public static void Run()
    {
        Type type = typeof(Shape);
        foreach (MemberInfo member in type.GetMembers(BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.Instance | BindingFlags.Static | BindingFlags.DeclaredOnly).OrderBy(member => member.Name, StringComparer.Ordinal).ThenBy(member => member.ToString(), StringComparer.Ordinal))
            Console.WriteLine(member.MemberType + " " + member);
        var label = type.GetCustomAttribute<LabelAttribute>()!;
        Console.WriteLine(label.Text + label.Rank + type.GetProperty("Sides")!.GetCustomAttribute<LabelAttribute>()!.Text);
        MethodInfo scale = type.GetMethod("Scale")!;
        MethodInfo describe = type.GetMethod("Describe")!;
        ConstructorInfo constructor = type.GetConstructor([typeof(int), typeof(string)])!;
        FieldInfo name = type.GetField("Name")!;
        PropertyInfo sides = type.GetProperty("Sides")!;
        var sum = new Checksum();
        for (int i = 0; i < 10_000; i++)
        {
            object shape = constructor.Invoke([i, "n" + i]);
            name.SetValue(shape, (string)name.GetValue(shape)! + "!");
            sides.SetValue(shape, (int)sides.GetValue(shape)! * 2);
            sum.Add((double)scale.Invoke(shape, [i * 0.5, 3])!);
            sum.Add((string)describe.Invoke(null, [shape, i])!);
        }
        Console.WriteLine(sum);
        try
        {
            type.GetMethod("Fail")!.Invoke(new Shape(), null);
        }
        catch (TargetInvocationException exception)
        {
            Console.WriteLine(exception.InnerException!.Message);
        }
        var typed = describe.CreateDelegate<Func<Shape, object?, string>>();
        Console.WriteLine(typed(new Shape(3, "triangle"), null) + " " + Activator.CreateInstance<Shape>().Sides + " " + ((Shape)Activator.CreateInstance(type, 9, "nine")!).Name);
        Console.WriteLine(typeof(Dictionary<string, List<int>>) + " " + typeof(int[,]).GetArrayRank() + " " + typeof(List<>).MakeGenericType(typeof(string)));
        Console.WriteLine(string.Join(',', Enum.GetNames<DayOfWeek>()) + " " + Enum.Parse<DayOfWeek>("Friday") + " " + typeof(IEnumerable<string>).IsAssignableFrom(typeof(List<string>)));
        Array array = Array.CreateInstance(typeof(long), 5);
        array.SetValue(7L, 2);
        Console.WriteLine(array.GetValue(2) + " " + array.GetType());
    }
}
