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
