using System;
using System.Collections.Generic;
using System.Linq;
using Freehold.Rewriter.Analysis;
using Freehold.Rewriter.Importing;
using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Rewriter;

/// <summary>An assembly being rewritten, with look-ups that fail with a message instead of a null.</summary>
public sealed class AssemblyUnderRewrite(ModuleDefinition module, AssemblyRole role, FrameworkNames? names)
{
    private readonly Dictionary<MethodDefinition, StackTypes> _stackTypes = [];
    private Importer? _injected;

    /// <summary>The module that is changed in place.</summary>
    public ModuleDefinition Module { get; } = module;

    /// <summary>What the assembly is to the program.</summary>
    public AssemblyRole Role { get; } = role;

    /// <summary>What the author of an application should know of it: places, one a line.</summary>
    public List<string> Warnings { get; } = [];

    /// <summary>What differs between versions of CoreLib. Passes ask for it while they rewrite that, and nothing else.</summary>
    public FrameworkNames Names => names ?? throw new RewriteException(Name, "CoreLib", "names of the version (--names)");

    /// <summary>What src/Compiler/InjectedRuntime has for CoreLib, each member copied into it when it is first asked for.</summary>
    public Importer Injected => _injected ??= Role == AssemblyRole.CoreLib
        ? new Importer(this, ImportSource.InjectedRuntime(), names)
        : throw new RewriteException(Name, "the injected runtime", "CoreLib, which alone gets it");

    /// <summary>The simple name, for messages.</summary>
    public string Name => Module.Assembly.Name.Name;

    /// <summary>All methods that have a body, of nested types too.</summary>
    public IEnumerable<MethodDefinition> MethodsWithBody =>
        Module.GetTypes().SelectMany(type => type.Methods).Where(method => method.HasBody);

    /// <summary>All methods that have a body but for the injected ones, which compare and convert addresses themselves.</summary>
    public IEnumerable<MethodDefinition> MethodsOfOthers =>
        MethodsWithBody.Where(method => Role != AssemblyRole.CoreLib || method.DeclaringType.FullName != InjectedRuntime.FullName);

    /// <summary>
    /// The operands of a method's <see cref="IdentitySites"/>, as they were when first asked for. What a pass puts in place of a site does not change
    /// those of the others, so that the passes over them share one analysis.
    /// </summary>
    public StackTypes StackTypesOf(MethodDefinition method)
    {
        if (!_stackTypes.TryGetValue(method, out StackTypes? types))
        {
            _stackTypes[method] = types = StackTypes.Of(method, IdentitySites.IsSite);
        }

        return types;
    }

    /// <summary>
    /// The instructions of <see cref="MethodsOfOthers"/> that <paramref name="isSite"/> chooses among <see cref="IdentitySites"/>, as far as control reaches them. What a pass
    /// does to one while it goes through them must leave the others in place: change its operand, say.
    /// </summary>
    public IEnumerable<(MethodDefinition Method, Instruction Site, StackTypes Types)> ReachableSites(Func<Instruction, bool> isSite) =>
        from method in MethodsOfOthers
        from site in method.Body.Instructions.Where(isSite)
        let types = StackTypesOf(method)
        where types.IsReachable(site)
        select (method, site, types);

    /// <summary>The type of this name, which must exist.</summary>
    public TypeDefinition Type(string fullName) =>
        Module.GetType(fullName) ?? throw new RewriteException(Name, fullName, "a type of this name");

    /// <summary>The one method of this name with these parameter types (all methods of the name when null), which must exist.</summary>
    public MethodDefinition Method(string type, string method, params string[]? parameters)
    {
        MethodDefinition[] found = [.. Type(type).Methods.Where(candidate => candidate.Name == method
            && (parameters is null || candidate.Parameters.Select(parameter => parameter.ParameterType.FullName).SequenceEqual(parameters)))];
        return found.Length == 1
            ? found[0]
            : throw new RewriteException(Name, $"{type}::{method}({string.Join(',', parameters ?? ["..."])})", $"one such method (found {found.Length})");
    }

    /// <summary>The field, which must exist and be of this type.</summary>
    public FieldDefinition Field(string type, string field, string fieldType)
    {
        FieldDefinition? found = Type(type).Fields.FirstOrDefault(candidate => candidate.Name == field);
        return found is not null && found.FieldType.FullName == fieldType
            ? found
            : throw new RewriteException(Name, $"{type}::{field}", $"a field of type {fieldType} (found {found?.FieldType.FullName ?? "none"})");
    }

    /// <summary>The body of a method counts that the compiler would expand, whatever it says.</summary>
    public void UseBodyOfIntrinsic(MethodDefinition method) =>
        method.CustomAttributes.Remove(method.CustomAttributes.SingleOrDefault(attribute => attribute.AttributeType.Name == "IntrinsicAttribute") ?? throw Unexpected(method, "an intrinsic"));

    /// <summary>Says that a method is not shaped as the pass expects.</summary>
    public RewriteException Unexpected(MethodReference method, string expected) => new(Name, method.FullName, expected);

    /// <summary>Call sites of a method anywhere in the assembly.</summary>
    public IEnumerable<(MethodDefinition Caller, Instruction Call)> CallsOf(MethodDefinition target) =>
        from method in MethodsWithBody
        from instruction in method.Body.Instructions
        where instruction.Operand is MethodReference called && called.Name == target.Name
            && called.DeclaringType.FullName == target.DeclaringType.FullName && called.Resolve() == target
        select (method, instruction);
}
