using System.Collections.Generic;

namespace Freehold.Rewriter;

/// <summary>A type of the framework that gives the same object to all who ask, and does not keep it in a static.</summary>
/// <param name="Type">Full name, as Cecil writes it.</param>
/// <param name="Reason">Who has the objects.</param>
/// <param name="Members"><c>field</c>: what is stored there, and what is in it if it is an array. <c>method()</c>: what the method returns. <c>.ctor</c>: the objects of the type. <c>method&gt;called</c>: the objects that the method gives to a call. <c>*</c>: all fields of references, but for what a public setter stores.</param>
public sealed record SharedObjectsRow(string Type, string Reason, params string[] Members);

/// <summary>The reviewed table of shared objects that are behind a static, and not in it. A type or member that a version does not have fails the rewrite.</summary>
public static class SharedObjectsTable
{
    private const string Reflection = "tables of the runtime have them, and the names of what they stand for";
    private const string Culture = "cultures are cached, and give their texts to all";

    /// <summary>All rows. Which assembly has a type differs by version.</summary>
    public static IReadOnlyList<SharedObjectsRow> Rows { get; } =
    [
        new("System.Reflection.EnumInfo", "the runtime has one for each enumeration; ToString and GetName return its names", "<Names>k__BackingField"),
        new("System.Globalization.CultureData", Culture, "*"),
        new("System.Globalization.CultureInfo", Culture, "GetCultureInfo()"),
        new("System.Globalization.DateTimeFormatInfo", Culture, "*"),
        new("System.Globalization.NumberFormatInfo", Culture, "*"),
        new("System.Environment", "the table of variables has the texts", "GetEnvironmentVariable()", "GetEnvironmentVariables>Add"),
        new("System.String", "the table of interned strings has it", "Intern()", "IsInterned()"),
        new("System.TimeZoneInfo", "zones are cached, and their texts", ".ctor", "*"),
        new("System.Reflection.Runtime.MethodInfos.RuntimeMethodInfo", Reflection, ".ctor"),
        new("System.Reflection.Runtime.MethodInfos.RuntimeConstructorInfo", Reflection, ".ctor"),
        new("System.Reflection.Runtime.FieldInfos.RuntimeFieldInfo", Reflection, ".ctor"),
        new("System.Reflection.Runtime.PropertyInfos.RuntimePropertyInfo", Reflection, ".ctor"),
        new("System.Reflection.Runtime.EventInfos.RuntimeEventInfo", Reflection, ".ctor"),
        new("System.Reflection.Runtime.ParameterInfos.RuntimeParameterInfo", Reflection, ".ctor"),
        new("System.Reflection.Runtime.Assemblies.RuntimeAssemblyInfo", Reflection, ".ctor"),
        new("System.Xml.Linq.XName", "a table has one for each name", ".ctor"),
        new("System.Xml.Linq.XNamespace", "a table has one for each name", ".ctor"),
    ];
}
