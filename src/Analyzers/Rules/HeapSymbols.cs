using System.Linq;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.Operations;

namespace Freehold.Analyzers;

/// <summary>The symbols that the rules ask for, of one compilation.</summary>
internal sealed class HeapSymbols
{
    private HeapSymbols(Compilation compilation, INamedTypeSymbol heap)
    {
        Heap = heap;
        Scope = compilation.GetTypeByMetadataName("System.HeapScope");
        Owned = compilation.GetTypeByMetadataName("System.OwnedAttribute");
        Type = compilation.GetTypeByMetadataName("System.Type");
        Thread = compilation.GetTypeByMetadataName("System.Threading.Thread");
        ArrayPool = compilation.GetTypeByMetadataName("System.Buffers.ArrayPool`1");
        ObjectPool = compilation.GetTypeByMetadataName("Microsoft.Extensions.ObjectPool.ObjectPool`1");
        Unsafe = compilation.GetTypeByMetadataName("System.Runtime.CompilerServices.Unsafe");
    }

    public INamedTypeSymbol Heap { get; }

    public INamedTypeSymbol? Scope { get; }

    public INamedTypeSymbol? Owned { get; }

    public INamedTypeSymbol? Type { get; }

    public INamedTypeSymbol? Thread { get; }

    public INamedTypeSymbol? ArrayPool { get; }

    public INamedTypeSymbol? ObjectPool { get; }

    public INamedTypeSymbol? Unsafe { get; }

    /// <summary>Null if the compilation does not know Freehold: then no rule applies.</summary>
    public static HeapSymbols? Find(Compilation compilation)
    {
        INamedTypeSymbol? heap = compilation.GetTypeByMetadataName("System.Heap");
        return heap is not null && heap.GetMembers("Delete").OfType<IMethodSymbol>().Any(method => method.IsStatic && method.Parameters.Length == 1) ? new HeapSymbols(compilation, heap) : null;
    }

    /// <summary>Whether a call deletes its one argument: Delete, DeleteAll or DeleteGraph.</summary>
    public bool IsDeletion(IInvocationOperation call) =>
        call.Arguments.Length == 1 && call.TargetMethod.Name is "Delete" or "DeleteAll" or "DeleteGraph" && SymbolEqualityComparer.Default.Equals(call.TargetMethod.ContainingType, Heap);

    /// <summary>Whether a call takes an object out of a pool that wants it back.</summary>
    public bool IsRent(IMethodSymbol method) =>
        (method.Name == "Rent" && IsOrDerivesFrom(method.ContainingType, ArrayPool)) || (method.Name == "Get" && IsOrDerivesFrom(method.ContainingType, ObjectPool));

    /// <summary>Whether a field is marked <c>[Owned]</c>.</summary>
    public bool IsOwned(IFieldSymbol field) => Owned is not null && field.GetAttributes().Any(mark => SymbolEqualityComparer.Default.Equals(mark.AttributeClass, Owned));

    public static bool IsOrDerivesFrom(ITypeSymbol? type, INamedTypeSymbol? ancestor)
    {
        for (; type is not null && ancestor is not null; type = type.BaseType)
        {
            if (SymbolEqualityComparer.Default.Equals(type.OriginalDefinition, ancestor))
            {
                return true;
            }
        }

        return false;
    }
}
