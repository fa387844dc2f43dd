using System.Diagnostics.CodeAnalysis;
using System.Globalization;
using System.Reflection;
using System.Runtime.CompilerServices;

namespace Freehold.Testing;

/// <summary>The object of a delegate: what the compiler has made for captured variables, or the test class. The child gets a copy, as far as its fields are simple values.</summary>
internal static class CapturedObject
{
    private const BindingFlags Fields = BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.DeclaredOnly;
    private const int MostDepth = 16;

    private enum Kind : byte
    {
        Null,
        Value,
        Object,
    }

    internal static void Write(BinaryWriter writer, object? target, Func<string, Exception> refused) => Write(writer, target, "this", 0, refused);

    internal static object? Read(BinaryReader reader) => Read(reader, typeof(object));

    [UnconditionalSuppressMessage("Trimming", "IL2057", Justification = "The child keeps the whole test assembly.")]
    [UnconditionalSuppressMessage("Trimming", "IL2067", Justification = "The child keeps the whole test assembly.")]
    [UnconditionalSuppressMessage("Trimming", "IL2072", Justification = "The child keeps the whole test assembly.")]
    [UnconditionalSuppressMessage("Trimming", "IL2075", Justification = "The child keeps the whole test assembly.")]
    private static object? Read(BinaryReader reader, Type declared)
    {
        var kind = (Kind)reader.ReadByte();
        if (kind == Kind.Null)
        {
            return null;
        }

        string name = reader.ReadString();
        if (kind == Kind.Value)
        {
            // The field knows it; a type of the framework need not have a name in a published program.
            Type ofValue = declared == typeof(object) || declared.IsInterface ? Type.GetType(name, throwOnError: true)! : Nullable.GetUnderlyingType(declared) ?? declared;
            return ToValue(ofValue, reader.ReadString());
        }

        Type type = Type.GetType(name, throwOnError: true)!;
        object target = RuntimeHelpers.GetUninitializedObject(type);
        for (int left = reader.ReadInt32(); left > 0; left--)
        {
            Type declaring = Type.GetType(reader.ReadString(), throwOnError: true)!;
            string ofField = reader.ReadString();
            FieldInfo field = declaring.GetField(ofField, Fields) ?? throw new MissingFieldException(declaring.FullName, ofField);
            field.SetValue(target, Read(reader, field.FieldType));
        }

        return target;
    }

    [UnconditionalSuppressMessage("Trimming", "IL2075", Justification = "On CoreCLR.")]
    private static void Write(BinaryWriter writer, object? value, string name, int depth, Func<string, Exception> refused)
    {
        if (value is null)
        {
            writer.Write((byte)Kind.Null);
            return;
        }

        Type type = value.GetType();
        if (ToText(value) is string text)
        {
            writer.Write((byte)Kind.Value);
            writer.Write(type.AssemblyQualifiedName!);
            writer.Write(text);
            return;
        }

        // What the compiler has made, and the object that the test is a method of. Others may be anything: files, connections, objects that somebody compares.
        if (depth > 0 && !IsOfCompiler(type) && name != "this")
        {
            throw refused($"it captures '{name}', a {type}, and the child is another process: only numbers, texts, times and enumerations are copied. Make it inside of the test");
        }

        if (depth > MostDepth || type.IsValueType)
        {
            throw refused($"it captures '{name}', a {type}, which cannot be copied");
        }

        writer.Write((byte)Kind.Object);
        writer.Write(type.AssemblyQualifiedName!);
        List<FieldInfo> fields = [];
        for (Type? declaring = type; declaring is not null; declaring = declaring.BaseType)
        {
            fields.AddRange(declaring.GetFields(Fields));
        }

        writer.Write(fields.Count);
        foreach (FieldInfo field in fields)
        {
            writer.Write(field.DeclaringType!.AssemblyQualifiedName!);
            writer.Write(field.Name);
            Write(writer, field.GetValue(value), NameOf(field), depth + 1, refused);
        }
    }

    private static bool IsOfCompiler(Type type) => type.IsDefined(typeof(CompilerGeneratedAttribute), inherit: false);

    // The compiler calls a captured 'this' <>4__this, and the variables of an outer block CS$<>8__locals1.
    private static string NameOf(FieldInfo field) => field.Name.EndsWith("__this", StringComparison.Ordinal) ? "this" : field.Name;

    private static string? ToText(object value) => value switch
    {
        string text => text,
        Enum number => Convert.ToString(Convert.ChangeType(number, Enum.GetUnderlyingType(number.GetType()), CultureInfo.InvariantCulture), CultureInfo.InvariantCulture),
        char letter => ((int)letter).ToString(CultureInfo.InvariantCulture),
        double number => BitConverter.DoubleToInt64Bits(number).ToString(CultureInfo.InvariantCulture),
        float number => BitConverter.SingleToInt32Bits(number).ToString(CultureInfo.InvariantCulture),
        DateTime time => time.ToBinary().ToString(CultureInfo.InvariantCulture),
        DateTimeOffset time => time.ToString("O", CultureInfo.InvariantCulture),
        TimeSpan time => time.Ticks.ToString(CultureInfo.InvariantCulture),
        Guid guid => guid.ToString(),
        bool or byte or sbyte or short or ushort or int or uint or long or ulong or decimal => Convert.ToString(value, CultureInfo.InvariantCulture),
        _ => null,
    };

    private static object ToValue(Type type, string text)
    {
        if (type.IsEnum)
        {
            return Enum.ToObject(type, Convert.ChangeType(text, Enum.GetUnderlyingType(type), CultureInfo.InvariantCulture));
        }

        return type switch
        {
            _ when type == typeof(string) => text,
            _ when type == typeof(char) => (char)int.Parse(text, CultureInfo.InvariantCulture),
            _ when type == typeof(double) => BitConverter.Int64BitsToDouble(long.Parse(text, CultureInfo.InvariantCulture)),
            _ when type == typeof(float) => BitConverter.Int32BitsToSingle(int.Parse(text, CultureInfo.InvariantCulture)),
            _ when type == typeof(DateTime) => DateTime.FromBinary(long.Parse(text, CultureInfo.InvariantCulture)),
            _ when type == typeof(DateTimeOffset) => DateTimeOffset.ParseExact(text, "O", CultureInfo.InvariantCulture),
            _ when type == typeof(TimeSpan) => TimeSpan.FromTicks(long.Parse(text, CultureInfo.InvariantCulture)),
            _ when type == typeof(Guid) => Guid.Parse(text),
            _ => Convert.ChangeType(text, type, CultureInfo.InvariantCulture),
        };
    }
}
