using System;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;
using System.Runtime.CompilerServices;

namespace Freehold.Compiler.Tests.RandomPrograms;

/// <summary>
/// What an instrumented program calls. A deletion marks the object and fills its fields with what nobody may see. Whatever the program reads afterwards must lead to no deleted object: the analysis
/// promises this of each value on the stack. Not for several threads.
/// </summary>
public static class DeletionChecker
{
    private const int PoisonNumber = -559038737;
    private static readonly HashSet<object> s_deleted = new(ReferenceEqualityComparer.Instance);
    private static readonly List<object> s_poisoned = [];
    private static readonly List<object> s_kept = [];
    private static readonly Dictionary<Type, FieldInfo[]> s_fields = [];
    private static readonly Dictionary<Type, object?> s_poison = [];
    private static readonly FieldInfo s_items = typeof(List<>).GetField("_items", BindingFlags.NonPublic | BindingFlags.Instance)!;
    private static readonly HashSet<object> s_seen = new(ReferenceEqualityComparer.Instance);
    private static readonly Stack<object> s_work = [];
    private static Assembly? s_program;
    private static FieldInfo[] s_statics = [];

    /// <summary>What was found, the first.</summary>
    public static string? Failure { get; private set; }

    /// <summary>How many objects were deleted.</summary>
    public static int Deletions { get; private set; }

    /// <summary>Begins a run of a program in this assembly.</summary>
    public static void Begin(Assembly program, Type type)
    {
        s_deleted.Clear();
        s_poisoned.Clear();
        s_kept.Clear();
        s_fields.Clear();
        s_poison.Clear();
        s_program = program;
        const BindingFlags All = BindingFlags.Static | BindingFlags.Public | BindingFlags.NonPublic;
        s_statics = [.. Nested(type).Where(one => !one.ContainsGenericParameters).SelectMany(one => one.GetFields(All)).Where(field => !field.FieldType.IsPrimitive && !field.IsLiteral)];
        Failure = null;
        Deletions = 0;

        static IEnumerable<Type> Nested(Type type) => type.GetNestedTypes(BindingFlags.Public | BindingFlags.NonPublic).SelectMany(Nested).Prepend(type);
    }

    /// <summary>Ends it: what others know is not deleted, and nobody has written to what is.</summary>
    public static void End()
    {
        WalkRoots("at the end");
        foreach (object poisoned in s_poisoned)
        {
            if (!IsPoisoned(poisoned))
            {
                Fail($"a deleted {poisoned.GetType()} was written to");
            }
        }
    }

    /// <summary>The program has an object, or a box of a structure.</summary>
    public static void See(object? value)
    {
        if (value is null || Failure is not null)
        {
            return;
        }

        if (s_deleted.Count > 0)
        {
            Walk(value, "was read");
        }
    }

    /// <summary>The program has read a number.</summary>
    public static void SeeNumber(int value)
    {
        if (value == PoisonNumber)
        {
            Fail("a number in a deleted object was read");
        }
    }

    /// <summary>The program has made an object: one with a finalizer is somebody else's too.</summary>
    public static void SeeNew(object value)
    {
        if (value.GetType().GetMethod("Finalize", BindingFlags.Instance | BindingFlags.NonPublic, []) is { } finalizer && finalizer.DeclaringType!.Assembly == s_program)
        {
            s_kept.Add(value);
        }
    }

    /// <summary>Code that is not known keeps what it gets.</summary>
    public static void Keep(object value) => s_kept.Add(value);

    /// <summary>The deletions that the compiler has added.</summary>
    public static void Delete(object? value)
    {
        if (value is null || Failure is not null)
        {
            return;
        }

        if (value is string text && IsShared(text))
        {
            return;  // a literal, or marked
        }

        if (!s_deleted.Add(value))
        {
            Fail($"a {value.GetType()} was deleted twice");
            return;
        }

        Deletions++;
        WalkRoots($"when a {value.GetType()} was deleted");
        Poison(value);
    }

    /// <summary>With what it owns.</summary>
    public static void DeleteWithParts(object? value)
    {
        object? part = value is not null && value.GetType() is { IsGenericType: true } type && type.GetGenericTypeDefinition() == typeof(List<>) ? Field(type, s_items.Name).GetValue(value) : null;
        Delete(value);
        DeleteReturned(part);
    }

    /// <summary>What a method has returned.</summary>
    public static void DeleteReturned(object? value)
    {
        if (value is not Array { Length: 0 })
        {
            Delete(value);
        }
    }

    /// <summary>What a method has returned, with what it owns.</summary>
    public static void DeleteReturnedWithParts(object? value)
    {
        if (value is not Array { Length: 0 })
        {
            DeleteWithParts(value);
        }
    }

    private static void Fail(string what) => Failure ??= what;

    private static bool IsShared(string text) =>
        (string.IsInterned(text) is { } literal && ReferenceEquals(literal, text)) || (text.Length < 4 && int.TryParse(text, out int number) && ReferenceEquals(text, number.ToString()));

    private static void WalkRoots(string when)
    {
        foreach (object root in s_statics.Select(field => field.GetValue(null)).Concat(s_kept).OfType<object>())
        {
            Walk(root, $"is known to others {when}");
        }
    }

    private static void Walk(object start, string what)
    {
        s_seen.Clear();
        s_work.Clear();
        Push(start);
        while (s_work.TryPop(out object? at))
        {
            if (s_deleted.Contains(at))
            {
                Fail(ReferenceEquals(at, start) ? $"a deleted {at.GetType()} {what}" : $"a {start.GetType()} {what}, which leads to a deleted {at.GetType()}");
                return;
            }

            switch (at)
            {
                case string:
                    break;
                case Array array:
                    if (!array.GetType().GetElementType()!.IsPrimitive)
                    {
                        foreach (object? element in array)
                        {
                            Push(element);
                        }
                    }

                    break;
                case Delegate function:
                    Push(function.Target);
                    break;
                default:
                    foreach (FieldInfo field in FieldsOf(at.GetType()))
                    {
                        Push(field.GetValue(at));
                    }

                    break;
            }
        }

        static void Push(object? value)
        {
            if (value is not null && s_seen.Add(value))
            {
                s_work.Push(value);
            }
        }
    }

    private static FieldInfo Field(Type type, string name) => type.GetField(name, BindingFlags.NonPublic | BindingFlags.Public | BindingFlags.Instance)!;

    // Of the program's types, and of the framework's containers.
    private static FieldInfo[] FieldsOf(Type type)
    {
        if (!s_fields.TryGetValue(type, out FieldInfo[]? fields))
        {
            List<FieldInfo> found = [];
            for (Type? at = type; at is not null && (at.Assembly == s_program || at.Namespace == "System.Collections.Generic"); at = at.BaseType)
            {
                const BindingFlags Own = BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.DeclaredOnly;
                found.AddRange(at.GetFields(Own).Where(field => !field.FieldType.IsPrimitive && !field.FieldType.IsPointer));
            }

            s_fields[type] = fields = [.. found];
        }

        return fields;
    }

    private static void Poison(object value)
    {
        if (value is object?[] array)
        {
            if (PoisonOf(array.GetType().GetElementType()!) is { } poison)
            {
                Array.Fill(array, poison);
                s_poisoned.Add(array);
            }
        }
        else if (value is int[] numbers)
        {
            Array.Fill(numbers, PoisonNumber);
        }
        else if (value.GetType().Assembly == s_program)
        {
            foreach (FieldInfo field in PoisonableFields(value.GetType()))
            {
                field.SetValue(value, PoisonOf(field.FieldType));
            }

            s_poisoned.Add(value);
        }
    }

    private static IEnumerable<FieldInfo> PoisonableFields(Type type)
    {
        for (Type? at = type; at is not null && at.Assembly == s_program; at = at.BaseType)
        {
            foreach (FieldInfo field in at.GetFields(BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.DeclaredOnly))
            {
                if (PoisonOf(field.FieldType) is not null)
                {
                    yield return field;
                }
            }
        }
    }

    private static bool IsPoisoned(object value) => value is object?[] array
        ? array.All(element => ReferenceEquals(element, PoisonOf(array.GetType().GetElementType()!)))
        : PoisonableFields(value.GetType()).All(field => field.FieldType == typeof(int) ? field.GetValue(value) is PoisonNumber : ReferenceEquals(field.GetValue(value), PoisonOf(field.FieldType)));

    // An object that counts as deleted; null where none can be made.
    private static object? PoisonOf(Type type)
    {
        if (!s_poison.TryGetValue(type, out object? poison))
        {
            poison = type == typeof(int) ? PoisonNumber
                : type == typeof(object) ? new object()
                : type == typeof(string) ? new string('?', 3)
                : type.IsArray ? Array.CreateInstance(type.GetElementType()!, 1)
                : type.IsValueType || type.IsAbstract || type.IsInterface || typeof(Delegate).IsAssignableFrom(type) || type.ContainsGenericParameters ? null
                : RuntimeHelpers.GetUninitializedObject(type);
            s_poison[type] = poison;
            if (poison is not null && type != typeof(int))
            {
                s_deleted.Add(poison);
                GC.SuppressFinalize(poison);
            }
        }

        return poison;
    }
}
