using System.Diagnostics.CodeAnalysis;
using System.Reflection;
using System.Runtime.CompilerServices;

namespace Freehold.Testing;

/// <summary>A call of a test as it goes to the child: which build of the test assembly, assertion, number, type and name of the method, its object.</summary>
internal static class TestCall
{
    /// <summary>For messages.</summary>
    internal static string Describe(Delegate test) => $"{test.Method.DeclaringType}.{test.Method.Name}";

    /// <summary>Nobody can wait for the end of an <c>async void</c>: what it leaves, and what it throws, comes too late.</summary>
    /// <exception cref="PublishedTestException">It is one.</exception>
    internal static void RefuseAsyncVoid(Delegate test)
    {
        MethodInfo method;
        try
        {
            method = test.Method;
        }
        catch (Exception exception) when (exception is NotSupportedException or InvalidOperationException)
        {
            // A published program need not know the methods of its delegates.
            return;
        }

        if (method.ReturnType == typeof(void) && method.IsDefined(typeof(AsyncStateMachineAttribute), inherit: false))
        {
            throw Refused(test, "it is 'async void', and nobody can wait for its end. Let it return a Task");
        }
    }

    /// <summary>The test assembly's half.</summary>
    /// <exception cref="PublishedTestException">The test cannot run in another process.</exception>
    internal static byte[] Write(Delegate test, Assertion assertion, long number)
    {
        MethodInfo method = test.Method;
        if (!test.HasSingleTarget || method.DeclaringType is not Type type || type.FullName is null)
        {
            throw Refused(test, "it is no single method of a type");
        }

        if (method.IsGenericMethod || type.IsGenericType)
        {
            throw Refused(test, "it is generic, or a lambda in something generic: the published child has only code that was compiled. Put the test into a method and a type that are not");
        }

        if (method.GetParameters().Length != 0)
        {
            throw Refused(test, "it is a method with arguments that are bound to it, such as an extension method. Call it from a lambda in the test");
        }

        RefuseAsyncVoid(test);
        using var bytes = new MemoryStream();
        using var writer = new BinaryWriter(bytes);
        writer.Write(type.Assembly.FullName!);
        writer.Write(type.Module.ModuleVersionId.ToByteArray());
        writer.Write((byte)assertion);
        writer.Write(number);
        writer.Write(type.AssemblyQualifiedName!);
        writer.Write(method.Name);
        writer.Write(test is Func<Task>);
        CapturedObject.Write(writer, test.Target, reason => Refused(test, reason));
        return bytes.ToArray();
    }

    /// <summary>The child's half.</summary>
    /// <exception cref="InvalidOperationException">The child was made of another build of the test assembly: names that the compiler gives to lambdas may mean others there.</exception>
    [UnconditionalSuppressMessage("Trimming", "IL2026", Justification = "The child keeps the whole test assembly.")]
    [UnconditionalSuppressMessage("Trimming", "IL2057", Justification = "The child keeps the whole test assembly.")]
    [UnconditionalSuppressMessage("Trimming", "IL2075", Justification = "The child keeps the whole test assembly.")]
    internal static Block Read(byte[] bytes, out Assertion assertion, out long number)
    {
        using var reader = new BinaryReader(new MemoryStream(bytes));
        string assembly = reader.ReadString();
        Guid wanted = new(reader.ReadBytes(16)), here = Assembly.Load(new AssemblyName(assembly)).ManifestModule.ModuleVersionId;
        if (wanted != here)
        {
            throw new InvalidOperationException($"The published child has another build of {assembly} ({here}) than the tests that run ({wanted}): it was built again while they ran. Run the tests again.");
        }

        assertion = (Assertion)reader.ReadByte();
        number = reader.ReadInt64();
        Type type = Type.GetType(reader.ReadString(), throwOnError: true)!;
        string name = reader.ReadString();
        bool isAsynchronous = reader.ReadBoolean();
        const BindingFlags All = BindingFlags.Instance | BindingFlags.Static | BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.DeclaredOnly;
        MethodInfo method = type.GetMethod(name, All, Type.EmptyTypes) ?? throw new MissingMethodException(type.FullName, name);
        object? target = CapturedObject.Read(reader);
        return isAsynchronous ? new Block(method.CreateDelegate<Func<Task>>(target)) : new Block(method.CreateDelegate<Action>(target));
    }

    private static PublishedTestException Refused(Delegate test, string reason) => new($"Freehold.Testing: {Describe(test)} cannot run in the published child: {reason}.");
}
