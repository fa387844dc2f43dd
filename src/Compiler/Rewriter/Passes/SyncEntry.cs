using System.Linq;
using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Rewriter.Passes;

/// <summary>
/// Gives an object's entry of <c>SyncTable</c> back before the object is deleted. Stock entries are freed by a finalizable collector object that
/// hangs on the owner by a dependent handle; without a collector that finalizer never runs, so the pass
/// <list type="number">
/// <item>injects <c>SyncTable.FreeholdReleaseSyncEntry(object, bool)</c>, exported under that name: detaches the entry from the header, puts it on the
/// free list and deletes its Lock. When the lock is held or waited for, it marks the object, whose deletion then waits until the lock is free;</item>
/// <item>makes <c>SyncTable.AssignEntry</c> create neither the collector nor the handle: both would only leak;</item>
/// <item>makes <c>Condition.Wait</c> count the threads between their letting go of the lock and their holding it again, pulsed or not;</item>
/// <item>injects <c>SyncTable.FreeholdReleaseDeadLocks()</c>, exported too, for objects that no root reached and that the heap deleted while the threads
/// stood still: the finalizer thread calls it before it runs finalizers.</item>
/// </list>
/// Everything happens under <c>SyncTable.s_lock</c>, as in the stock code, so other entries may be used and assigned at the same time. What is injected: src/Compiler/InjectedRuntime/Framework/SyncTable.cs.
/// </summary>
public sealed class SyncEntry : IRewritePass
{
    private const string Table = "System.Threading.SyncTable";
    private const string Lock = "System.Threading.Lock";
    private const string Condition = "System.Threading.Condition";

    /// <inheritdoc/>
    public string Name => nameof(SyncEntry);

    /// <inheritdoc/>
    public int Version => 7;

    /// <inheritdoc/>
    public bool AppliesTo(AssemblyRole role) => role == AssemblyRole.CoreLib;

    /// <inheritdoc/>
    public bool Run(AssemblyUnderRewrite assembly, PassStatistics statistics)
    {
        DropCollector(assembly, statistics);
        CountWaiting(assembly, statistics);
        statistics.Rewrite(assembly.Injected.Method(Table, "FreeholdReleaseSyncEntry").FullName);
        MethodDefinition releaseDead = assembly.Injected.Method(Table, "FreeholdReleaseDeadLocks");
        statistics.Rewrite(releaseDead.FullName);

        MethodDefinition drain = assembly.Method("System.Runtime.__Finalizer", "DrainQueue");
        drain.Body.BeginEdit();
        drain.Body.Instructions.Insert(0, Emit.Call(releaseDead));
        drain.Body.EndEdit();
        statistics.Rewrite(drain.FullName);
        return true;
    }

    /// <summary>
    /// The list of waiters forgets who was pulsed, though that thread has yet to take the lock again. So <c>Wait</c> adds one before <c>ExitAll</c> and takes it away behind
    /// <c>Reenter</c>: both while it holds the lock, which guards the count.
    /// </summary>
    private static void CountWaiting(AssemblyUnderRewrite assembly, PassStatistics statistics)
    {
        MethodDefinition wait = assembly.Method(Condition, "Wait", "System.Int32", "System.Object");
        MethodDefinition count = assembly.Injected.Method(Condition, "FreeholdCount");
        Instruction[] leave = [.. wait.Body.Instructions.Where(instruction => instruction.Calls(Lock, "ExitAll"))];
        Instruction[] enter = [.. wait.Body.Instructions.Where(instruction => instruction.Calls(Lock, "Reenter"))];
        if (leave.Length != 1 || enter.Length != 1)
        {
            throw assembly.Unexpected(wait, "one call of Lock.ExitAll and one of Lock.Reenter");
        }

        wait.Body.BeginEdit();
        // The lock that it leaves is on the stack.
        wait.Body.InsertBefore(leave[0], Emit.This(), Emit.Load(1), Emit.Call(count));
        wait.Body.InsertAfter(enter[0], Emit.This(), Emit.Load(-1), Emit.Call(count));
        wait.Body.EndEdit();
        statistics.Rewrite(wait.FullName);
    }

    private static void DropCollector(AssemblyUnderRewrite assembly, PassStatistics statistics)
    {
        const string Collector = "System.Threading.SyncTable/DeadEntryCollector";
        const string Handle = "System.Runtime.DependentHandle";
        MethodDefinition method = assembly.Method(Table, "AssignEntry", "System.Object", "System.Int32*");
        MethodBody body = method.Body;
        body.BeginEdit();
        Instruction create = Single(Collector, ".ctor");
        Instruction activate = Single(Collector, "Activate");
        Instruction handle = Single(Handle, ".ctor");
        if (create.OpCode != OpCodes.Newobj || activate.OpCode != OpCodes.Callvirt || handle.OpCode != OpCodes.Call)
        {
            throw assembly.Unexpected(method, "newobj of DeadEntryCollector, callvirt of Activate and call of DependentHandle's constructor");
        }

        // The operands are on the stack already: drop them. A null collector also skips SuppressFinalize in the finally block, and the
        // zeroed handle (locals are not zeroed in CoreLib) makes its Dispose do nothing.
        create.OpCode = OpCodes.Ldnull;
        create.Operand = null;
        body.Replace(activate, Instruction.Create(OpCodes.Pop), Instruction.Create(OpCodes.Pop));
        body.Replace(
            handle,
            Instruction.Create(OpCodes.Pop),
            Instruction.Create(OpCodes.Pop),
            Instruction.Create(OpCodes.Initobj, assembly.Type(Handle)));
        body.EndEdit();
        statistics.Rewrite(method.FullName);

        Instruction Single(string type, string name)
        {
            Instruction[] found = [.. body.Instructions.Where(instruction => instruction.Calls(type, name))];
            return found.Length == 1 ? found[0] : throw assembly.Unexpected(method, $"one call of {type}::{name} (found {found.Length})");
        }
    }
}
