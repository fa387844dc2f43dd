using System;
using System.IO;
using System.Linq;
using Mono.Cecil;

namespace Freehold.Rewriter.Importing;

/// <summary>An assembly whose members are copied into a framework's, and the marks in it (src/Compiler/InjectedRuntime/Markers).</summary>
public sealed class ImportSource
{
    private const string Resource = "Freehold.InjectedRuntime.dll";
    private const string Marks = "System.Runtime.Importing.";

    /// <summary>An assembly, which is read from this stream as it is needed.</summary>
    public ImportSource(Stream assembly) => Module = ModuleDefinition.ReadModule(assembly);

    /// <summary>What is copied from.</summary>
    public ModuleDefinition Module { get; }

    /// <summary>The injected runtime, which this tool holds as a resource.</summary>
    public static ImportSource InjectedRuntime() => new(typeof(ImportSource).Assembly.GetManifestResourceStream(Resource)!);

    /// <summary>Whether a type of the source only declares one of the framework: it is marked, or nested in one that is and not to be injected.</summary>
    public static bool IsDeclaration(TypeDefinition type) =>
        Has(type, "Framework") || (type.DeclaringType is { } outer && IsDeclaration(outer) && !Has(type, "Injected"));

    /// <summary>Whether a member of the source only declares one of the framework. The body of a replacement is for a method that the framework has.</summary>
    public static bool IsDeclaration(IMemberDefinition member) => IsDeclaration(member.DeclaringType) && !Has(member, "Injected");

    /// <summary>Whether a pass fills the method.</summary>
    public static bool IsFilledByPass(MethodDefinition method) => Has(method, "FilledByPass");

    /// <summary>Whether the method is the new body of one that the framework has.</summary>
    public static bool IsReplacement(MethodDefinition method) => Has(method, "Replacement");

    /// <summary>The instruction that stands in place of a call; empty for none, null where it is a call.</summary>
    public static string? InstructionOf(MethodDefinition method) => Argument(method, "Instruction");

    /// <summary>What a declaration is called in the framework: a type's full name, a member's name.</summary>
    public static string NameOf(IMemberDefinition declaration, FrameworkNames? names)
    {
        if (Argument(declaration, "Framework") is { } name)
        {
            return name;
        }

        if (Argument(declaration, "VersionName") is { } entry)
        {
            return typeof(FrameworkNames).GetProperty(entry)?.GetValue(names) as string
                ?? throw new RewriteException($"{declaration.FullName}: framework.json of this version has no {entry}.");
        }

        return declaration is not TypeDefinition type ? declaration.Name
            : type.DeclaringType is null ? type.FullName : $"{NameOf(type.DeclaringType, names)}/{type.Name}";
    }

    /// <summary>Whether an attribute is one of the marks, or what compilers add for themselves.</summary>
    public static bool IsMark(TypeReference attribute) =>
        attribute.FullName.StartsWith(Marks, StringComparison.Ordinal) || attribute.Namespace is "System.Runtime.CompilerServices" or "Microsoft.CodeAnalysis";

    private static bool Has(ICustomAttributeProvider member, string mark) => Find(member, mark) is not null;

    private static CustomAttribute? Find(ICustomAttributeProvider member, string mark) =>
        member.HasCustomAttributes ? member.CustomAttributes.FirstOrDefault(attribute => attribute.AttributeType.FullName == $"{Marks}{mark}Attribute") : null;

    private static string? Argument(ICustomAttributeProvider member, string mark) => Find(member, mark)?.ConstructorArguments[0].Value as string;
}
