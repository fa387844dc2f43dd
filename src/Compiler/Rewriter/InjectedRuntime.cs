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
    public static TypeDefinition Class(AssemblyUnderRewrite coreLib) => coreLib.Injected.Type(FullName);

    /// <summary>A public method of the injected class, as any assembly refers to it.</summary>
    public static MethodReference Method(AssemblyUnderRewrite assembly, string name, TypeReference returns, params TypeReference[] parameters)
    {
        if (assembly.Role == AssemblyRole.CoreLib)
        {
            string[] names = [.. parameters.Select(parameter => parameter.FullName)];
            return assembly.Injected.HasMethod(FullName, name, names) ? assembly.Injected.Method(FullName, name, names) : assembly.Method(FullName, name, names);
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

    /// <summary>The attribute <c>[RuntimeImport("*", symbol)]</c>: the method is bound to a symbol at link time, and a call of it is an ordinary one without a transition.</summary>
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
