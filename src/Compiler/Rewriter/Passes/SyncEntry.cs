using System.Linq;
using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Rewriter.Passes;

/// <summary>
/// Gives an object's entry of <c>SyncTable</c> back before the object is deleted. Stock entries are freed by a finalizable collector object that
/// hangs on the owner by a dependent handle; without a collector that finalizer never runs, so the pass
/// <list type="number">
/// <item>injects <c>SyncTable.FreeholdReleaseSyncEntry(object)</c>, exported under that name: detaches the entry from the header, puts it on the
/// free list and deletes its Lock. It answers false and changes nothing when the lock is held or waited for;</item>
/// <item>makes <c>SyncTable.AssignEntry</c> create neither the collector nor the handle: both would only leak;</item>
/// <item>makes <c>Condition.Wait</c> count the threads between their letting go of the lock and their holding it again, pulsed or not;</item>
/// <item>injects <c>SyncTable.FreeholdReleaseDeadLocks()</c>, exported too, for objects that no root reached and that the heap deleted while the threads
/// stood still: the finalizer thread calls it before it runs finalizers.</item>
/// </list>
/// Everything happens under <c>SyncTable.s_lock</c>, as in the stock code, so other entries may be used and assigned at the same time.
/// </summary>
public sealed class SyncEntry : IRewritePass
{
    private const string Table = "System.Threading.SyncTable";
    private const string Entry = "System.Threading.SyncTable/Entry";
    private const string Lock = "System.Threading.Lock";
    private const string Header = "System.Threading.ObjectHeader";
    private const string Symbol = "FreeholdReleaseSyncEntry";
    private const string Condition = "System.Threading.Condition";

    /// <summary>Lock._state of a lock that this thread holds and nobody waits for or spins on.</summary>
    private const int HeldAndUncontended = 1;

    /// <summary>The two flags that say: the low bits of the sync word are the hash code.</summary>
    private const int HeaderHoldsHash = 0x0C000000;

    /// <summary>The bits of the sync word that are not index, hash code or their two flags.</summary>
    private const int OtherHeaderBits = unchecked((int)0xF0000000);

    /// <inheritdoc/>
    public string Name => nameof(SyncEntry);

    /// <inheritdoc/>
    public int Version => 5;

    /// <inheritdoc/>
    public bool AppliesTo(AssemblyRole role) => role == AssemblyRole.CoreLib;

    /// <inheritdoc/>
    public bool Run(AssemblyUnderRewrite assembly, PassStatistics statistics)
    {
        DropCollector(assembly, statistics);
        FieldDefinition waiting = CountWaiting(assembly, statistics);
        InjectRelease(assembly, statistics, waiting);
        InjectReleaseOfDead(assembly, statistics);
        return true;
    }

    /// <summary>
    /// The list of waiters forgets who was pulsed, though that thread has yet to take the lock again. So <c>Wait</c> adds one before <c>ExitAll</c> and takes it away behind
    /// <c>Reenter</c>: both while it holds the lock, which guards the count.
    /// </summary>
    private static FieldDefinition CountWaiting(AssemblyUnderRewrite assembly, PassStatistics statistics)
    {
        MethodDefinition wait = assembly.Method(Condition, "Wait", "System.Int32", "System.Object");
        FieldDefinition waiting = new("_freeholdWaiting", FieldAttributes.Assembly, assembly.Module.TypeSystem.Int32);
        wait.DeclaringType.Fields.Add(waiting);
        Instruction[] leave = [.. wait.Body.Instructions.Where(instruction => instruction.Calls(Lock, "ExitAll"))];
        Instruction[] enter = [.. wait.Body.Instructions.Where(instruction => instruction.Calls(Lock, "Reenter"))];
        if (leave.Length != 1 || enter.Length != 1)
        {
            throw assembly.Unexpected(wait, "one call of Lock.ExitAll and one of Lock.Reenter");
        }

        wait.Body.BeginEdit();
        // The lock that it leaves is on the stack.
        wait.Body.InsertBefore(leave[0], Add(OpCodes.Add));
        wait.Body.InsertAfter(enter[0], Add(OpCodes.Sub));
        wait.Body.EndEdit();
        statistics.Rewrite(wait.FullName);
        return waiting;

        Instruction[] Add(OpCode operation) =>
        [
            Instruction.Create(OpCodes.Ldarg_0),
            Instruction.Create(OpCodes.Ldarg_0),
            Instruction.Create(OpCodes.Ldfld, waiting),
            Instruction.Create(OpCodes.Ldc_I4_1),
            Instruction.Create(operation),
            Instruction.Create(OpCodes.Stfld, waiting),
        ];
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

    /// <summary>
    /// <code>
    /// static bool FreeholdReleaseSyncEntry(object obj)
    /// {
    ///     bool released = true;
    ///     Lock entryLock = null, entered = null;
    ///     ref int header = ref the four bytes before the MethodTable pointer of obj;
    ///     s_lock.Enter();
    ///     try
    ///     {
    ///         if (ObjectHeader.GetSyncEntryIndex(header, out int index))
    ///         {
    ///             ref Entry entry = ref s_entries[index];
    ///             Lock candidate = entry.Lock;
    ///             int thread = Environment.CurrentManagedThreadId;
    ///             if (candidate.TryEnterOneShot(thread) &amp;&amp; (entered = candidate)._state == HeldAndUncontended
    ///                 &amp;&amp; !(Monitor.s_conditionTable.TryGetValue(obj, out Condition condition) &amp;&amp; condition._freeholdWaiting != 0))
    ///             {
    ///                 int hash = entry.HashCode;
    ///                 if (hash != 0) hash |= HeaderHoldsHash;
    ///                 int old;
    ///                 do old = header; while (Interlocked.CompareExchange(ref header, old &amp; OtherHeaderBits | hash, old) != old);
    ///                 entry.Lock = null;
    ///                 entry.Next = s_freeEntryList;
    ///                 s_freeEntryList = index;
    ///                 entryLock = candidate;
    ///             }
    ///             else released = false;
    ///         }
    ///     }
    ///     finally { if (entered != null) entered.Exit(thread); s_lock.Exit(); }
    ///     if (entryLock != null) FreeholdRuntime.Delete(entryLock);
    ///     return released;
    /// }
    /// </code>
    /// The hash code goes back into the header: a deleted object whose page is still there has it like any other.
    /// The lock is taken for the check so that nobody can enter between check and detachment; the finally block matters because the header's
    /// page may die under a racing second Delete, and that throws. The Lock is deleted, not reused: a thread that read it from the table just
    /// before and enters it late meets a deleted object, as the contract says, instead of holding a lock that belongs to somebody else.
    /// Who is in <c>Monitor.Wait</c> takes that Lock again and lets go of the one in the table: it must be the same.
    /// Its AutoResetEvent, made only when a thread had to sleep, is left: the thread that signalled it last may still be inside Set.
    /// </summary>
    private static void InjectRelease(AssemblyUnderRewrite assembly, PassStatistics statistics, FieldDefinition waiting)
    {
        TypeSystem types = assembly.Module.TypeSystem;
        TypeDefinition table = assembly.Type(Table);
        TypeDefinition entryType = assembly.Type(Entry);
        TypeDefinition lockType = assembly.Type(Lock);
        FieldDefinition tableLock = assembly.Field(Table, "s_lock", Lock);
        FieldDefinition entries = assembly.Field(Table, "s_entries", Entry + "[]");
        FieldDefinition freeList = assembly.Field(Table, "s_freeEntryList", "System.Int32");
        FieldDefinition entryLockField = assembly.Field(Entry, "Lock", Lock);
        FieldDefinition state = assembly.Field(Lock, "_state", "System.UInt32");
        MethodDefinition exit = assembly.Method(Lock, "Exit");

        MethodDefinition method = InjectedRuntime.AddMethod(table, Symbol, MethodAttributes.Assembly, types.Boolean, types.Object);
        method.CustomAttributes.Add(InjectedRuntime.ExportAttribute(assembly, Symbol));
        MethodBody body = method.Body;
        VariableDefinition released = Local(types.Boolean);
        VariableDefinition detached = Local(lockType);
        VariableDefinition header = Local(new ByReferenceType(types.Int32));
        VariableDefinition index = Local(types.Int32);
        VariableDefinition entry = Local(new ByReferenceType(entryType));
        VariableDefinition candidate = Local(lockType);
        VariableDefinition entered = Local(lockType);
        VariableDefinition thread = Local(types.Int32);
        VariableDefinition old = Local(types.Int32);
        VariableDefinition hash = Local(types.Int32);

        TypeDefinition conditionType = assembly.Type(Condition);
        FieldDefinition conditions = assembly.Type("System.Threading.Monitor").Fields.Single(field => field.Name == "s_conditionTable");
        TypeDefinition weakTable = assembly.Type("System.Runtime.CompilerServices.ConditionalWeakTable`2");
        MethodReference find = new("TryGetValue", types.Boolean, conditions.FieldType) { HasThis = true };
        find.Parameters.Add(new ParameterDefinition(weakTable.GenericParameters[0]));
        find.Parameters.Add(new ParameterDefinition(new ByReferenceType(weakTable.GenericParameters[1])));
        VariableDefinition condition = Local(conditionType);

        Instruction tryStart = Instruction.Create(OpCodes.Ldloc, header);
        Instruction retry = Instruction.Create(OpCodes.Ldloc, header);
        Instruction contended = Instruction.Create(OpCodes.Ldc_I4_0);
        Instruction unwaited = Instruction.Create(OpCodes.Ldloc, entry);
        Instruction after = Instruction.Create(OpCodes.Ldloc, detached);
        Instruction tryEnd = Instruction.Create(OpCodes.Leave, after);
        Instruction finallyStart = Instruction.Create(OpCodes.Ldloc, entered);
        Instruction leaveTable = Instruction.Create(OpCodes.Ldsfld, tableLock);
        Instruction end = Instruction.Create(OpCodes.Ldloc, released);

        body.Append(
            Instruction.Create(OpCodes.Ldc_I4_1),
            Instruction.Create(OpCodes.Stloc, released),
            Instruction.Create(OpCodes.Ldarg_0),
            Instruction.Create(OpCodes.Call, assembly.Method("System.Runtime.CompilerServices.RuntimeHelpers", "GetMethodTableRef", "System.Object")),
            Instruction.Create(OpCodes.Ldc_I4_4),
            Instruction.Create(OpCodes.Sub),
            Instruction.Create(OpCodes.Stloc, header),
            Instruction.Create(OpCodes.Ldsfld, tableLock),
            Instruction.Create(OpCodes.Callvirt, assembly.Method(Lock, "Enter")),
            tryStart,
            Instruction.Create(OpCodes.Ldind_I4),
            Instruction.Create(OpCodes.Ldloca, index),
            Instruction.Create(OpCodes.Call, assembly.Method(Header, "GetSyncEntryIndex", "System.Int32", "System.Int32&")),
            Instruction.Create(OpCodes.Brfalse, tryEnd),
            Instruction.Create(OpCodes.Ldsfld, entries),
            Instruction.Create(OpCodes.Ldloc, index),
            Instruction.Create(OpCodes.Ldelema, entryType),
            Instruction.Create(OpCodes.Stloc, entry),
            Instruction.Create(OpCodes.Ldloc, entry),
            Instruction.Create(OpCodes.Ldfld, entryLockField),
            Instruction.Create(OpCodes.Stloc, candidate),
            Instruction.Create(OpCodes.Call, assembly.Method("System.Environment", "get_CurrentManagedThreadId")),
            Instruction.Create(OpCodes.Stloc, thread),
            Instruction.Create(OpCodes.Ldloc, candidate),
            Instruction.Create(OpCodes.Ldloc, thread),
            Instruction.Create(OpCodes.Callvirt, assembly.Method(Lock, "TryEnterOneShot", "System.Int32")),
            Instruction.Create(OpCodes.Brfalse, contended),
            Instruction.Create(OpCodes.Ldloc, candidate),
            Instruction.Create(OpCodes.Stloc, entered),
            Instruction.Create(OpCodes.Ldloc, candidate),
            Instruction.Create(OpCodes.Ldfld, state),
            Instruction.Create(OpCodes.Ldc_I4, HeldAndUncontended),
            Instruction.Create(OpCodes.Bne_Un, contended),
            Instruction.Create(OpCodes.Ldsfld, conditions),
            Instruction.Create(OpCodes.Ldarg_0),
            Instruction.Create(OpCodes.Ldloca, condition),
            Instruction.Create(OpCodes.Callvirt, find),
            Instruction.Create(OpCodes.Brfalse, unwaited),
            Instruction.Create(OpCodes.Ldloc, condition),
            Instruction.Create(OpCodes.Ldfld, waiting),
            Instruction.Create(OpCodes.Brtrue, contended),
            unwaited,
            Instruction.Create(OpCodes.Call, assembly.Method(Entry, "get_HashCode")),
            Instruction.Create(OpCodes.Stloc, hash),
            Instruction.Create(OpCodes.Ldloc, hash),
            Instruction.Create(OpCodes.Brfalse, retry),
            Instruction.Create(OpCodes.Ldloc, hash),
            Instruction.Create(OpCodes.Ldc_I4, HeaderHoldsHash),
            Instruction.Create(OpCodes.Or),
            Instruction.Create(OpCodes.Stloc, hash),
            retry,
            Instruction.Create(OpCodes.Ldind_I4),
            Instruction.Create(OpCodes.Stloc, old),
            Instruction.Create(OpCodes.Ldloc, header),
            Instruction.Create(OpCodes.Ldloc, old),
            Instruction.Create(OpCodes.Ldc_I4, OtherHeaderBits),
            Instruction.Create(OpCodes.And),
            Instruction.Create(OpCodes.Ldloc, hash),
            Instruction.Create(OpCodes.Or),
            Instruction.Create(OpCodes.Ldloc, old),
            Instruction.Create(OpCodes.Call, assembly.Method("System.Threading.Interlocked", "CompareExchange", "System.Int32&", "System.Int32", "System.Int32")),
            Instruction.Create(OpCodes.Ldloc, old),
            Instruction.Create(OpCodes.Bne_Un, retry),
            Instruction.Create(OpCodes.Ldloc, entry),
            Instruction.Create(OpCodes.Ldnull),
            Instruction.Create(OpCodes.Stfld, entryLockField),
            Instruction.Create(OpCodes.Ldloc, entry),
            Instruction.Create(OpCodes.Ldsfld, freeList),
            Instruction.Create(OpCodes.Call, assembly.Method(Entry, "set_Next", "System.Int32")),
            Instruction.Create(OpCodes.Ldloc, index),
            Instruction.Create(OpCodes.Stsfld, freeList),
            Instruction.Create(OpCodes.Ldloc, candidate),
            Instruction.Create(OpCodes.Stloc, detached),
            Instruction.Create(OpCodes.Br, tryEnd),
            contended,
            Instruction.Create(OpCodes.Stloc, released),
            tryEnd,
            finallyStart,
            Instruction.Create(OpCodes.Brfalse, leaveTable),
            Instruction.Create(OpCodes.Ldloc, entered),
            Instruction.Create(OpCodes.Ldloc, thread),
            Instruction.Create(OpCodes.Callvirt, assembly.Method(Lock, "Exit", "System.Int32")),
            leaveTable,
            Instruction.Create(OpCodes.Callvirt, exit),
            Instruction.Create(OpCodes.Endfinally),
            after,
            Instruction.Create(OpCodes.Brfalse, end),
            Instruction.Create(OpCodes.Ldloc, detached),
            Instruction.Create(OpCodes.Call, InjectedRuntime.Delete(assembly)),
            Instruction.Create(OpCodes.Pop),
            end,
            Instruction.Create(OpCodes.Ret));
        body.ExceptionHandlers.Add(new ExceptionHandler(ExceptionHandlerType.Finally)
        {
            TryStart = tryStart,
            TryEnd = finallyStart,
            HandlerStart = finallyStart,
            HandlerEnd = after,
        });
        body.EndEdit();
        statistics.Rewrite(method.FullName);

        VariableDefinition Local(TypeReference type)
        {
            VariableDefinition variable = new(type);
            body.Variables.Add(variable);
            return variable;
        }
    }

    /// <summary>
    /// <code>
    /// static void FreeholdReleaseDeadLocks()
    /// {
    ///     while (FreeholdRuntime.TakeDeadLock() is var index and not 0)
    ///     {
    ///         s_lock.Enter();
    ///         try
    ///         {
    ///             ref Entry entry = ref s_entries[index];
    ///             entry.Lock = null;
    ///             entry.Next = s_freeEntryList;
    ///             s_freeEntryList = index;
    ///         }
    ///         finally { s_lock.Exit(); }
    ///     }
    /// }
    /// </code>
    /// The Lock is not deleted: the thread that left it last may still be inside Exit, of an object that it does not need any more. The next search finds it.
    /// </summary>
    private static void InjectReleaseOfDead(AssemblyUnderRewrite assembly, PassStatistics statistics)
    {
        const string Symbol = "FreeholdReleaseDeadLocks";
        TypeSystem types = assembly.Module.TypeSystem;
        TypeDefinition entryType = assembly.Type(Entry);
        FieldDefinition tableLock = assembly.Field(Table, "s_lock", Lock);
        FieldDefinition freeList = assembly.Field(Table, "s_freeEntryList", "System.Int32");
        MethodDefinition take = InjectedRuntime.Import(assembly, "TakeDeadLock", "freehold_take_dead_lock", types.Int32);

        MethodDefinition method = InjectedRuntime.AddMethod(assembly.Type(Table), Symbol, MethodAttributes.Assembly, types.Void);
        method.CustomAttributes.Add(InjectedRuntime.ExportAttribute(assembly, Symbol));
        MethodBody body = method.Body;
        VariableDefinition index = new(types.Int32);
        VariableDefinition entry = new(new ByReferenceType(entryType));
        body.Variables.Add(index);
        body.Variables.Add(entry);

        Instruction next = Instruction.Create(OpCodes.Call, take);
        Instruction tryStart = Instruction.Create(OpCodes.Ldsfld, assembly.Field(Table, "s_entries", Entry + "[]"));
        Instruction finallyStart = Instruction.Create(OpCodes.Ldsfld, tableLock);
        Instruction again = Instruction.Create(OpCodes.Br, next);
        Instruction end = Instruction.Create(OpCodes.Ret);
        body.Append(
            next,
            Instruction.Create(OpCodes.Stloc, index),
            Instruction.Create(OpCodes.Ldloc, index),
            Instruction.Create(OpCodes.Brfalse, end),
            Instruction.Create(OpCodes.Ldsfld, tableLock),
            Instruction.Create(OpCodes.Callvirt, assembly.Method(Lock, "Enter")),
            tryStart,
            Instruction.Create(OpCodes.Ldloc, index),
            Instruction.Create(OpCodes.Ldelema, entryType),
            Instruction.Create(OpCodes.Stloc, entry),
            Instruction.Create(OpCodes.Ldloc, entry),
            Instruction.Create(OpCodes.Ldnull),
            Instruction.Create(OpCodes.Stfld, assembly.Field(Entry, "Lock", Lock)),
            Instruction.Create(OpCodes.Ldloc, entry),
            Instruction.Create(OpCodes.Ldsfld, freeList),
            Instruction.Create(OpCodes.Call, assembly.Method(Entry, "set_Next", "System.Int32")),
            Instruction.Create(OpCodes.Ldloc, index),
            Instruction.Create(OpCodes.Stsfld, freeList),
            Instruction.Create(OpCodes.Leave, again),
            finallyStart,
            Instruction.Create(OpCodes.Callvirt, assembly.Method(Lock, "Exit")),
            Instruction.Create(OpCodes.Endfinally),
            again,
            end);
        body.ExceptionHandlers.Add(new ExceptionHandler(ExceptionHandlerType.Finally)
        {
            TryStart = tryStart,
            TryEnd = finallyStart,
            HandlerStart = finallyStart,
            HandlerEnd = again,
        });
        body.EndEdit();
        statistics.Rewrite(method.FullName);

        MethodDefinition drain = assembly.Method("System.Runtime.__Finalizer", "DrainQueue");
        drain.Body.BeginEdit();
        drain.Body.Instructions.Insert(0, Instruction.Create(OpCodes.Call, method));
        drain.Body.EndEdit();
        statistics.Rewrite(drain.FullName);
    }
}
