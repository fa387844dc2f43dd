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
        Enumeration,
        Type,
        Array,
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
        switch (kind)
        {
            case Kind.Value:
                return SimpleValue.Read(name, reader.ReadBytes(reader.ReadInt32()));
            case Kind.Enumeration:
                // The field knows it; a type of the framework need not have a name in a published program.
                Type enumeration = Nullable.GetUnderlyingType(declared) ?? declared;
                return Enum.ToObject(enumeration.IsEnum ? enumeration : Type.GetType(name, throwOnError: true)!, reader.ReadInt64());
            case Kind.Type:
                return Type.GetType(name, throwOnError: true);
            case Kind.Array:
                int length = reader.ReadInt32();
                Array array = SimpleValue.MakeArray(name, length) ?? MakeArray(name, declared, length);
                for (int i = 0; i < length; i++)
                {
                    array.SetValue(Read(reader, array.GetType().GetElementType()!), i);
                }

                return array;
            default:
                break;
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

    [UnconditionalSuppressMessage("AOT", "IL3050", Justification = "Where the program has no such array, an exception says so.")]
    [UnconditionalSuppressMessage("Trimming", "IL2057", Justification = "The child keeps the whole test assembly.")]
    private static Array MakeArray(string ofElements, Type declared, int length)
    {
        if (declared.IsArray && declared.GetElementType()!.AssemblyQualifiedName == ofElements)
        {
            return Array.CreateInstanceFromArrayType(declared, length);
        }

        Type type = Type.GetType(ofElements, throwOnError: true)!;
        return type == typeof(object) ? new object?[length] : type == typeof(Type) ? new Type?[length] : Array.CreateInstance(type, length);
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
        if (WriteSimple(writer, value, type))
        {
            return;
        }

        if (value is Array array && IsSimple(type))
        {
            writer.Write((byte)Kind.Array);
            Type ofElements = type.GetElementType()!;
            writer.Write(SimpleValue.Is(ofElements) ? ofElements.FullName! : ofElements.AssemblyQualifiedName!);
            writer.Write(array.Length);
            foreach (object? element in array)
            {
                Write(writer, element, name + "[]", depth + 1, refused);
            }

            return;
        }

        // What the compiler has made, and the object that the test is a method of. Others may be anything: files, connections, objects that somebody compares.
        if (depth > 0 && !IsOfCompiler(type) && name != "this")
        {
            throw refused(
                $"it captures '{name}', a {type}, and the child is another process: only numbers, texts, times, enumerations and arrays of them are copied. Make it inside of the test, " +
                "and in a block of its own if another lambda beside it needs it: lambdas of one block have their captured variables in common");
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
            fields.AddRange(declaring.GetFields(Fields).Where(field => !IsCache(field)));
        }

        writer.Write(fields.Count);
        foreach (FieldInfo field in fields)
        {
            writer.Write(field.DeclaringType!.AssemblyQualifiedName!);
            writer.Write(field.Name);
            Write(writer, field.GetValue(value), NameOf(field), depth + 1, refused);
        }
    }

    private static bool WriteSimple(BinaryWriter writer, object value, Type type)
    {
        if (value is Enum number)
        {
            writer.Write((byte)Kind.Enumeration);
            writer.Write(type.AssemblyQualifiedName!);
            writer.Write(type.GetEnumUnderlyingType() == typeof(ulong) ? unchecked((long)Convert.ToUInt64(number, CultureInfo.InvariantCulture)) : Convert.ToInt64(number, CultureInfo.InvariantCulture));
            return true;
        }

        if (value is Type captured && captured.AssemblyQualifiedName is { } known)
        {
            writer.Write((byte)Kind.Type);
            writer.Write(known);
            return true;
        }

        if (SimpleValue.ToBytes(value) is not { } bytes)
        {
            return false;
        }

        writer.Write((byte)Kind.Value);
        writer.Write(type.FullName!);
        writer.Write(bytes.Length);
        writer.Write(bytes);
        return true;
    }

    // Arrays whose elements are values that can be copied; one of objects may have others, which are refused one by one.
    private static bool IsSimple(Type array)
        => array.IsSZArray && array.GetElementType() is { } element && (SimpleValue.Is(element) || element == typeof(object) || element == typeof(Type) || (Nullable.GetUnderlyingType(element) ?? element).IsEnum);

    private static bool IsOfCompiler(Type type) => type.IsDefined(typeof(CompilerGeneratedAttribute), inherit: false);

    // Where a lambda is in a loop or in another lambda, the compiler keeps its delegate beside the variables that it captures.
    private static bool IsCache(FieldInfo field) => field.Name.StartsWith("<>9__", StringComparison.Ordinal) && typeof(Delegate).IsAssignableFrom(field.FieldType) && IsOfCompiler(field.DeclaringType!);

    // The compiler calls a captured 'this' <>4__this, and the variables of an outer block CS$<>8__locals1.
    private static string NameOf(FieldInfo field) => field.Name.EndsWith("__this", StringComparison.Ordinal) ? "this" : field.Name;
}
