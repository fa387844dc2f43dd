using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using Mono.Cecil;

namespace Freehold.Rewriter.Escape;

/// <summary>Finds assemblies in folders, each once whatever version a reference names: a type must be one object for all who refer to it.</summary>
internal sealed class AssembliesByName : IAssemblyResolver
{
    private readonly List<string> _folders = [];
    private readonly Dictionary<string, AssemblyDefinition> _assemblies = new(StringComparer.OrdinalIgnoreCase);

    /// <summary>Looks there too, after the folders that were added before.</summary>
    public void AddSearchDirectory(string folder) => _folders.Add(folder);

    /// <inheritdoc/>
    public AssemblyDefinition Resolve(AssemblyNameReference name) => Resolve(name, new ReaderParameters());

    /// <inheritdoc/>
    public AssemblyDefinition Resolve(AssemblyNameReference name, ReaderParameters parameters)
    {
        if (!_assemblies.TryGetValue(name.Name, out AssemblyDefinition? assembly))
        {
            string file = _folders.Select(folder => Path.Combine(folder, name.Name + ".dll")).FirstOrDefault(File.Exists) ?? throw new AssemblyResolutionException(name);
            parameters.AssemblyResolver = this;
            _assemblies[name.Name] = assembly = AssemblyDefinition.ReadAssembly(file, parameters);
        }

        return assembly;
    }

    /// <inheritdoc/>
    public void Dispose()
    {
        foreach (AssemblyDefinition assembly in _assemblies.Values)
        {
            assembly.Dispose();
        }
    }
}
