using System;
using System.Linq;
using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Rewriter;

/// <summary>
/// The static class that the passes add to CoreLib for what they call. It is public, since rewritten application code calls into it too;
/// nothing compiles against it, as no reference assembly has it.
/// </summary>
public static class InjectedRuntime
{
    /// <summary>Namespace of the injected class.</summary>
    public const string Namespace = "System.Runtime";

    /// <summary>Name of the injected class.</summary>
    public const string ClassName = "FreeholdRuntime";

    /// <summary>The full name of the injected class.</summary>
    public const string FullName = Namespace + "." + ClassName;

    private const string CoreLib = "System.Private.CoreLib";

    /// <summary>The injected class; made at the first request.</summary>
    public static TypeDefinition Class(AssemblyUnderRewrite coreLib)
    {
        TypeDefinition? existing = coreLib.Module.GetType(FullName);
        if (existing is not null)
        {
            return existing;
        }

        TypeDefinition type = new(
            Namespace,
            ClassName,
            TypeAttributes.Public | TypeAttributes.Abstract | TypeAttributes.Sealed | TypeAttributes.BeforeFieldInit,
            coreLib.Type("System.Object"));
        coreLib.Module.Types.Add(type);
        return type;
    }

    /// <summary>A public method of the injected class, as any assembly refers to it.</summary>
    public static MethodReference Method(AssemblyUnderRewrite assembly, string name, TypeReference returns, params TypeReference[] parameters)
    {
        if (assembly.Role == AssemblyRole.CoreLib)
        {
            return assembly.Method(FullName, name, [.. parameters.Select(parameter => parameter.FullName)]);
        }

        MethodReference method = new(name, returns, Reference(assembly.Module)) { HasThis = false };
        foreach (TypeReference parameter in parameters)
        {
            method.Parameters.Add(new ParameterDefinition(parameter));
        }

        return method;
    }

    /// <summary>The injected class, as an assembly other than CoreLib refers to it.</summary>
    public static TypeReference Reference(ModuleDefinition module) => Reference(module, Namespace, ClassName);

    /// <summary>A class of CoreLib, as an assembly other than CoreLib refers to it.</summary>
    public static TypeReference Reference(ModuleDefinition module, string @namespace, string name) => new(@namespace, name, module, CoreLibOf(module));

    /// <summary>[StackTraceHidden], for methods that stand between those of the source.</summary>
    public static CustomAttribute HiddenInStackTraces(ModuleDefinition module)
    {
        const string Diagnostics = "System.Diagnostics", Attribute = "StackTraceHiddenAttribute";
        MethodReference constructor = module.Assembly.Name.Name == CoreLib
            ? module.GetType(Diagnostics, Attribute).Methods.Single(method => method.IsConstructor)
            : new MethodReference(".ctor", module.TypeSystem.Void, new TypeReference(Diagnostics, Attribute, module, CoreLibOf(module))) { HasThis = true };
        return new CustomAttribute(constructor);
    }

    private static AssemblyNameReference CoreLibOf(ModuleDefinition module)
    {
        AssemblyNameReference? scope = module.AssemblyReferences.FirstOrDefault(reference => reference.Name == CoreLib);
        if (scope is null)
        {
            scope = new AssemblyNameReference(CoreLib, new Version(9, 0, 0, 0)) { PublicKeyToken = [0x7c, 0xec, 0x85, 0xd7, 0xbe, 0xa7, 0x79, 0x8e] };
            module.AssemblyReferences.Add(scope);
        }

        return scope;
    }

    /// <summary>An extern method bound to a symbol at link time: an ordinary managed call without a transition.</summary>
    public static MethodDefinition Import(AssemblyUnderRewrite coreLib, string name, string symbol, TypeReference returns, params TypeReference[] parameters)
    {
        MethodDefinition? existing = Class(coreLib).Methods.FirstOrDefault(method => method.Name == name);
        if (existing is not null)
        {
            return existing;
        }

        MethodDefinition import = new(name, MethodAttributes.Assembly | MethodAttributes.Static | MethodAttributes.HideBySig, returns)
        {
            ImplAttributes = MethodImplAttributes.InternalCall,
        };
        AddParameters(import, parameters);
        import.CustomAttributes.Add(ImportAttribute(coreLib, symbol));
        Class(coreLib).Methods.Add(import);
        return import;
    }

    /// <summary>The attribute <c>[RuntimeImport("*", symbol)]</c>.</summary>
    public static CustomAttribute ImportAttribute(AssemblyUnderRewrite coreLib, string symbol) =>
        StringAttribute(coreLib, coreLib.Method("System.Runtime.RuntimeImportAttribute", ".ctor", "System.String", "System.String"), "*", symbol);

    /// <summary>The attribute <c>[RuntimeExport(symbol)]</c>.</summary>
    public static CustomAttribute ExportAttribute(AssemblyUnderRewrite coreLib, string symbol) =>
        StringAttribute(coreLib, coreLib.Method("System.Runtime.RuntimeExportAttribute", ".ctor", "System.String"), symbol);

    /// <summary>A static method with an empty body to fill.</summary>
    public static MethodDefinition AddMethod(TypeDefinition owner, string name, MethodAttributes access, TypeReference returns, params TypeReference[] parameters)
    {
        MethodDefinition method = new(name, access | MethodAttributes.Static | MethodAttributes.HideBySig, returns);
        AddParameters(method, parameters);
        method.Body = new MethodBody(method) { InitLocals = true };
        owner.Methods.Add(method);
        return method;
    }

    /// <summary><c>freehold_handle_get</c>: what a handle refers to, null for a weak handle whose target is deleted.</summary>
    public static MethodDefinition HandleGet(AssemblyUnderRewrite coreLib) =>
        Import(coreLib, "HandleGet", "freehold_handle_get", coreLib.Module.TypeSystem.Object, coreLib.Module.TypeSystem.IntPtr);

    /// <summary><c>freehold_delete</c> for objects that CoreLib itself owns and that have no finalizer left to run.</summary>
    public static MethodDefinition Delete(AssemblyUnderRewrite coreLib) =>
        Import(coreLib, "Delete", "freehold_delete", coreLib.Module.TypeSystem.Int32, coreLib.Module.TypeSystem.Object);

    /// <summary>The managed export of assembly Freehold that makes the exception for a dangling reference.</summary>
    public static MethodDefinition CreateDanglingReference(AssemblyUnderRewrite coreLib) =>
        Import(coreLib, "CreateDanglingReference", "FreeholdCreateDanglingReference", coreLib.Type("System.Exception"));

    /// <summary>
    /// <c>freehold_is_same</c>: whether two references name one object, or one place in it. References, not numbers, are passed: while the
    /// function runs no thread is stopped, before it both are made current if one is.
    /// </summary>
    public static MethodDefinition IsSame(AssemblyUnderRewrite coreLib, string name, TypeReference reference) =>
        Import(coreLib, name, "freehold_is_same", coreLib.Module.TypeSystem.Boolean, reference, reference);

    /// <summary><c>freehold_difference</c>: <c>a - b</c> of two managed pointers, by the names that both have at one moment.</summary>
    public static MethodDefinition CurrentDifference(AssemblyUnderRewrite coreLib)
    {
        ByReferenceType reference = new(coreLib.Module.TypeSystem.Byte);
        return Import(coreLib, "CurrentDifference", "freehold_difference", coreLib.Module.TypeSystem.IntPtr, reference, reference);
    }

    /// <summary>
    /// Fills an inlined equality: <c>a == b || (int)(a | b) &lt; 0 &amp;&amp; slow(a, b)</c>. Bit 31 is set where promoted copies lie. The JIT lays out
    /// the target of a branch next to it: so each branch leads to what a loop does most often.
    /// </summary>
    public static void AppendEquality(MethodDefinition equality, MethodDefinition slow)
    {
        Instruction unequal = Instruction.Create(OpCodes.Ldarg_0);
        Instruction different = Instruction.Create(OpCodes.Ldc_I4_0);
        equality.Body.Append(
            Instruction.Create(OpCodes.Ldarg_0),
            Instruction.Create(OpCodes.Ldarg_1),
            Instruction.Create(OpCodes.Bne_Un_S, unequal),
            Instruction.Create(OpCodes.Ldc_I4_1),
            Instruction.Create(OpCodes.Ret));
        AppendNamesAreOriginal(equality, unequal, different);
        equality.Body.Append(
            Instruction.Create(OpCodes.Ldarg_0),
            Instruction.Create(OpCodes.Ldarg_1),
            Instruction.Create(OpCodes.Call, slow),
            Instruction.Create(OpCodes.Ret),
            different,
            Instruction.Create(OpCodes.Ret));
    }

    /// <summary>
    /// Fills an inlined equality whose answer is returned: <c>(int)(a | b) >= 0 ? a == b : slow(a, b)</c>. No branch for the answer, and in a method that
    /// does only this three blocks: with more of them the JIT would give the method a frame.
    /// </summary>
    public static void AppendEqualityValue(MethodDefinition equality, MethodDefinition slow)
    {
        Instruction original = Instruction.Create(OpCodes.Ldarg_0);
        AppendNamesAreOriginal(equality, Instruction.Create(OpCodes.Ldarg_0), original);
        equality.Body.Append(
            Instruction.Create(OpCodes.Ldarg_0),
            Instruction.Create(OpCodes.Ldarg_1),
            Instruction.Create(OpCodes.Call, slow),
            Instruction.Create(OpCodes.Ret),
            original,
            Instruction.Create(OpCodes.Ldarg_1),
            Instruction.Create(OpCodes.Ceq),
            Instruction.Create(OpCodes.Ret));
    }

    /// <summary>
    /// Branches when neither argument can be the name of a copy, so that different addresses are different places: <c>(int)(a | b) >= 0</c>.
    /// <paramref name="first"/> becomes the first instruction.
    /// </summary>
    public static void AppendNamesAreOriginal(MethodDefinition method, Instruction first, Instruction target)
    {
        first.OpCode = OpCodes.Ldarg_0;
        method.Body.Append(
            first,
            Instruction.Create(OpCodes.Conv_U),
            Instruction.Create(OpCodes.Ldarg_1),
            Instruction.Create(OpCodes.Conv_U),
            Instruction.Create(OpCodes.Or),
            Instruction.Create(OpCodes.Conv_I4),
            Instruction.Create(OpCodes.Ldc_I4_0),
            Instruction.Create(OpCodes.Bge_S, target));
    }

    private static void AddParameters(MethodDefinition method, TypeReference[] parameters)
    {
        for (int i = 0; i < parameters.Length; i++)
        {
            method.Parameters.Add(new ParameterDefinition($"argument{i}", ParameterAttributes.None, parameters[i]));
        }
    }

    private static CustomAttribute StringAttribute(AssemblyUnderRewrite coreLib, MethodDefinition constructor, params string[] arguments)
    {
        CustomAttribute attribute = new(constructor);
        foreach (string argument in arguments)
        {
            attribute.ConstructorArguments.Add(new CustomAttributeArgument(coreLib.Module.TypeSystem.String, argument));
        }

        return attribute;
    }
}
