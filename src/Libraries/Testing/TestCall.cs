using System.Diagnostics.CodeAnalysis;
using System.Reflection;

namespace Freehold.Testing;

/// <summary>A call of a test as it goes to the child: assertion, number, type and name of the method, its object.</summary>
internal static class TestCall
{
    /// <summary>For messages.</summary>
    internal static string Describe(Delegate test) => $"{test.Method.DeclaringType}.{test.Method.Name}";

    /// <summary>The test assembly's half.</summary>
    /// <exception cref="PublishedTestException">The test cannot run in another process.</exception>
    internal static byte[] Write(Delegate test, Assertion assertion, long number, string assembly)
    {
        MethodInfo method = test.Method;
        if (!test.HasSingleTarget || method.DeclaringType is not Type type || type.FullName is null)
        {
            throw Refused(test, "it is no single method of a type");
        }

        if (type.Assembly.GetName().Name != assembly)
        {
            throw Refused(test, $"the child has the methods of {assembly} only, and this one is in {type.Assembly.GetName().Name}. Call it from a lambda in the test");
        }

        if (method.IsGenericMethod || type.IsGenericType)
        {
            throw Refused(test, "it is generic, or a lambda in something generic: the published child has only code that was compiled. Put the test into a method and a type that are not");
        }

        using var bytes = new MemoryStream();
        using var writer = new BinaryWriter(bytes);
        writer.Write((byte)assertion);
        writer.Write(number);
        writer.Write(type.AssemblyQualifiedName!);
        writer.Write(method.Name);
        writer.Write(test is Func<Task>);
        CapturedObject.Write(writer, test.Target, reason => Refused(test, reason));
        return bytes.ToArray();
    }

    /// <summary>The child's half.</summary>
    [UnconditionalSuppressMessage("Trimming", "IL2057", Justification = "The child keeps the whole test assembly.")]
    [UnconditionalSuppressMessage("Trimming", "IL2075", Justification = "The child keeps the whole test assembly.")]
    internal static Action Read(byte[] bytes, out Assertion assertion, out long number)
    {
        using var reader = new BinaryReader(new MemoryStream(bytes));
        assertion = (Assertion)reader.ReadByte();
        number = reader.ReadInt64();
        Type type = Type.GetType(reader.ReadString(), throwOnError: true)!;
        string name = reader.ReadString();
        bool isAsynchronous = reader.ReadBoolean();
        const BindingFlags All = BindingFlags.Instance | BindingFlags.Static | BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.DeclaredOnly;
        MethodInfo method = type.GetMethod(name, All, Type.EmptyTypes) ?? throw new MissingMethodException(type.FullName, name);
        object? target = CapturedObject.Read(reader);
        if (!isAsynchronous)
        {
            return method.CreateDelegate<Action>(target);
        }

        Func<Task> test = method.CreateDelegate<Func<Task>>(target);
        return () => test().GetAwaiter().GetResult();
    }

    private static PublishedTestException Refused(Delegate test, string reason) => new($"Freehold.Testing: {Describe(test)} cannot run in the published child: {reason}.");
}
