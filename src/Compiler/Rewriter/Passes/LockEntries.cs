using System.Linq;
using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Rewriter.Passes;

/// <summary>
/// The stock readers of <c>SyncTable</c> take an index from an object's header and trust it: there the entry lives as long as the object, which they hold. Here
/// <c>Heap.Delete</c> gives the entry back meanwhile, and it becomes another object's. So
/// <list type="number">
/// <item>who has read a hash code or entered a lock compares again with the header (src/Compiler/InjectedRuntime/Framework/SyncTable.cs);</item>
/// <item>the object is kept alive until the Lock is read: without the pins, which <see cref="ReferencesForPointers"/> took away, a search could delete it before.</item>
/// </list>
/// </summary>
public sealed class LockEntries : IRewritePass
{
    private const string Table = "System.Threading.SyncTable";
    private const string Lock = "System.Threading.Lock";

    private static readonly (string Type, string Method, string Replacement)[] s_replacements =
    [
        (Table, "GetHashCode", "FreeholdGetHashCode"),
        (Table, "SetHashCode", "FreeholdSetHashCode"),
        (Lock, "TryEnterOneShot", "FreeholdTryEnterOneShot"),
        (Lock, "TryEnterSlow", "FreeholdTryEnterSlow"),
        (Lock, "GetIsHeldByCurrentThread", "FreeholdIsHeld"),
    ];

    // With the number of sites: another version of the framework may have others.
    private static readonly (string Type, string Method, int Sites)[] s_members =
    [
        ("System.Threading.ObjectHeader", "GetHashCode", 1),
        ("System.Threading.ObjectHeader", "TryGetHashCode", 1),
        ("System.Threading.ObjectHeader", "AssignHashCode", 1),
        ("System.Threading.ObjectHeader", "GetLockObject", 1),
        ("System.Threading.ObjectHeader", "TryAcquire", 2),
        ("System.Threading.ObjectHeader", "Release", 1),
        ("System.Threading.ObjectHeader", "IsAcquired", 2),
        ("System.Threading.Monitor", "Enter", 2),
        ("System.Threading.Monitor", "TryEnter", 6),
    ];

    /// <inheritdoc/>
    public string Name => nameof(LockEntries);

    /// <inheritdoc/>
    public int Version => 1;

    /// <inheritdoc/>
    public bool AppliesTo(AssemblyRole role) => role == AssemblyRole.CoreLib;

    /// <inheritdoc/>
    public bool Run(AssemblyUnderRewrite assembly, PassStatistics statistics)
    {
        MethodReference keepAlive = assembly.Method("System.GC", "KeepAlive", "System.Object");
        foreach ((string type, string name, int expected) in s_members)
        {
            int sites = 0;
            MethodDefinition[] methods = [.. assembly.Type(type).Methods.Where(method => method.Name == name && method.HasBody)];
            foreach (MethodDefinition method in methods)
            {
                MethodBody body = method.Body;
                body.BeginEdit();
                foreach (Instruction site in body.Instructions.ToArray())
                {
                    if (site.Calls(Table, "GetLockObject"))
                    {
                        body.InsertAfter(site, Emit.Load(method.Parameters[0]), Emit.Call(keepAlive));
                        sites++;
                    }
                    else if (s_replacements.FirstOrDefault(replacement => site.Calls(replacement.Type, replacement.Method)) is { Replacement: { } replacement })
                    {
                        body.Replace(site, Emit.Load(method.Parameters[0]), Emit.Call(assembly.Injected.Method(Table, replacement)));
                        sites++;
                    }
                }

                body.EndEdit();
            }

            if (sites != expected)
            {
                throw assembly.Unexpected(methods.FirstOrDefault() ?? assembly.Method(type, name, null), $"{expected} uses of the table of locks (found {sites})");
            }

            statistics.Rewrite($"{type}::{name}");
        }

        return true;
    }
}
