using System.Globalization;
using System.Reflection;
using System.Text;
using System.Xml.Linq;

namespace Freehold.Testing;

/// <summary>
/// The child's project. It refers to the assemblies in the folder that the tests run from, to no project: whatever configuration, platform or output folder they were built with, the child has what is tested. And no
/// package of the test project brings its targets along.
/// </summary>
internal static class ChildProject
{
    internal const string Name = "freehold-test-child";

    // Those come with the package.
    private static readonly string[] s_own = ["Freehold", "Freehold.Collections", "Freehold.Testing"];

    /// <summary>Writes it into a folder.</summary>
    /// <returns>The project file.</returns>
    internal static string Write(ChildSettings settings, string folder)
    {
        string project = Path.Combine(folder, Name + ".csproj");
        Directory.CreateDirectory(folder);
        File.WriteAllText(project, Text(settings));
        File.WriteAllText(Path.Combine(folder, "Program.cs"), "return global::Freehold.Testing.TestChild.Run(args);\n");
        return project;
    }

    /// <summary>The project file's text.</summary>
    internal static string Text(ChildSettings settings)
    {
        // All of its code is kept, since tests are found by name.
        var items = new XElement("ItemGroup", new XElement("TrimmerRootAssembly", new XAttribute("Include", Escape(settings.Assembly))));
        items.Add(new XElement("PackageReference", new XAttribute("Include", "Freehold.Testing"), new XAttribute("Version", settings.Required("version"))));
        foreach (string framework in settings.Frameworks().Where(name => name != "Microsoft.NETCore.App").Order(StringComparer.Ordinal))
        {
            items.Add(new XElement("FrameworkReference", new XAttribute("Include", Escape(framework))));
        }

        foreach (string file in Directory.GetFiles(settings.Folder, "*.dll").Order(StringComparer.Ordinal))
        {
            if (NameOf(file) is { } assembly && !s_own.Contains(assembly))
            {
                items.Add(new XElement("Reference", new XAttribute("Include", Escape(assembly)), new XElement("HintPath", Escape(file))));
            }
        }

        return new XElement(
            "Project",
            new XElement(
                "PropertyGroup",
                new XElement("ImportDirectoryBuildProps", "false"),
                new XElement("ImportDirectoryBuildTargets", "false"),
                new XElement("ImportDirectoryPackagesProps", "false"),
                new XElement("FreeholdTesting", "false"),
                Optional("FreeholdCacheDirectory", Escape(settings.Value("cache")))),
            new XElement("Import", new XAttribute("Project", "Sdk.props"), new XAttribute("Sdk", "Microsoft.NET.Sdk")),
            Properties(settings),
            items,
            new XElement("Import", new XAttribute("Project", "Sdk.targets"), new XAttribute("Sdk", "Microsoft.NET.Sdk"))).ToString();
    }

    private static XElement Properties(ChildSettings settings) => new(
        "PropertyGroup",
        new XElement("OutputType", "Exe"),
        new XElement("AssemblyName", Name),
        new XElement("RootNamespace", "FreeholdTestChild"),
        new XElement("TargetFramework", settings.Required("framework")),
        new XElement("RuntimeIdentifier", "linux-x64"),
        new XElement("PublishAot", "true"),
        new XElement("SuppressTrimAnalysisWarnings", "true"),
        new XElement("NoWarn", "$(NoWarn);IL2104;IL3053;NU1603;NU1605;NU1701;MSB3277"),
        // Places of allocations are told by names, which are there without; and the compiler and the linker are done much sooner.
        new XElement("DebugType", "none"),
        new XElement("GenerateDocumentationFile", "false"),
        new XElement("AllowedReferenceRelatedFileExtensions", "none"),
        new XElement("ErrorOnDuplicatePublishOutputFiles", "false"),
        Optional("InvariantGlobalization", Escape(settings.Value("invariant"))),
        Optional("RestoreSources", string.Join(';', settings.Value("sources").Split(';').Select(Escape))),
        Optional("RestorePackagesPath", Escape(settings.Value("packages"))),
        Optional("RestoreConfigFile", Escape(settings.Value("config"))));

    private static XElement? Optional(string name, string value) => value.Length == 0 ? null : new XElement(name, value);

    // What MSBuild would take for a list, a pattern, a property or an escape.
    private static string Escape(string text)
    {
        var escaped = new StringBuilder();
        foreach (char letter in text)
        {
            if ("%*?@$();'".Contains(letter, StringComparison.Ordinal))
            {
                escaped.Append(CultureInfo.InvariantCulture, $"%{(int)letter:X2}");
            }
            else
            {
                escaped.Append(letter);
            }
        }

        return escaped.ToString();
    }

    // Null for a native library.
    private static string? NameOf(string file)
    {
        try
        {
            return AssemblyName.GetAssemblyName(file).Name;
        }
        catch (BadImageFormatException)
        {
            return null;
        }
    }
}
