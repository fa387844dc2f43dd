using System;
using System.Collections.Generic;
using System.Linq;
using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Rewriter.Passes;

/// <summary>
/// Tells the heap what is pinned, and uses it. After each store into a pinned local (the stack then holds the reference, whatever happens)
/// <list type="number">
/// <item><c>freehold_pin</c> notes the pin and says where the object lies now and stays: that goes into the local;</item>
/// <item>it is touched. Native code and the kernel do not fault in a way that could become an exception (a system call answers EFAULT), so a dangling
/// reference must be found at the pin: <c>FreeholdRuntime.TouchObject(object)</c> throws when the deleted bit is set and faults when the page is gone;
/// <c>FreeholdRuntime.TouchReference(ref byte before, ref byte now)</c> reads one byte where the pin gave another address: where the object lies now, or
/// one that faults. What it left as it was is pinned, or no memory of the heap, which may be reserved, a device's or no address at all: nothing is read.</item>
/// </list>
/// <c>ConditionalWeakTable</c> touches the key that it looks for: its references to keys are weak and do not find what is deleted. So <c>Monitor.Pulse</c> would reach nobody
/// who waits, and native code would get a function pointer of a delegate that is gone.
/// <c>GCHandle</c>, and <c>PinnedGCHandle</c> where the framework has it, holds its target in a pinned local while it makes a handle of type Pinned, or gives one another target.
/// </summary>
public sealed class TouchBeforePin : IRewritePass
{
    private const string TouchObjectName = "TouchObject";
    private const string TouchReferenceName = "TouchReference";
    private const string PinObjectName = "PinObject";
    private const string PinReferenceName = "PinReference";
    private const string Handle = "System.Runtime.InteropServices.GCHandle";
    private const string HandleType = "System.Runtime.InteropServices.GCHandleType";
    private const string Imports = "System.Runtime.RuntimeImports";
    private const int PinnedHandle = 3;

    /// <inheritdoc/>
    public string Name => nameof(TouchBeforePin);

    /// <inheritdoc/>
    public int Version => 6;

    /// <inheritdoc/>
    public bool AppliesTo(AssemblyRole role) => true;

    /// <inheritdoc/>
    public bool Run(AssemblyUnderRewrite assembly, PassStatistics statistics)
    {
        bool changed = false;
        if (assembly.Role == AssemblyRole.CoreLib)
        {
            PinTargetsOfHandles(assembly);
            TouchBeforeLookUp(assembly, statistics);
            changed = true;
        }

        foreach (MethodDefinition method in assembly.MethodsWithBody.ToArray())
        {
            if (method.Body.Variables.Any(variable => variable.IsPinned))
            {
                changed |= RewriteMethod(assembly, method, statistics);
            }
        }

        return changed;
    }

    private static void TouchBeforeLookUp(AssemblyUnderRewrite assembly, PassStatistics statistics)
    {
        MethodDefinition method = assembly.Method("System.Runtime.CompilerServices.ConditionalWeakTable`2/Container", "FindEntry", "TKey", "System.Object&");
        ParameterDefinition key = method.Parameters[0];
        method.Body.BeginEdit();
        method.Body.InsertBefore(
            method.Body.Instructions[0],
            Emit.Load(key),
            Instruction.Create(OpCodes.Box, key.ParameterType),
            Emit.Call(Touch(assembly, assembly.Module.TypeSystem.Object)));
        method.Body.EndEdit();
        statistics.Rewrite(method.FullName);
    }

    private static bool RewriteMethod(AssemblyUnderRewrite assembly, MethodDefinition method, PassStatistics statistics)
    {
        MethodBody body = method.Body;
        body.BeginEdit();
        bool changed = false;
        HashSet<Instruction> targets = [.. body.Instructions.SelectMany(branch => branch.Operand switch { Instruction one => [one], Instruction[] many => many, _ => [] })];
        foreach (Instruction store in body.Instructions.ToArray())
        {
            if (store.OpCode != OpCodes.Stloc || store.Operand is not VariableDefinition { VariableType: PinnedType pinned })
            {
                continue;
            }

            if (EndsFixed(store) && !targets.Contains(store))
            {
                statistics.Skip(method.FullName, "end of a fixed statement");
                continue;
            }

            VariableDefinition local = (VariableDefinition)store.Operand;
            Instruction[] before = pinned.ElementType.IsByReference ? [Emit.Load(local)] : [];
            body.InsertAfter(
                store,
                [
                    .. before,
                    Emit.Load(local),
                    Emit.Call(Pin(assembly, pinned.ElementType)),
                    Emit.Store(local),
                    Emit.Load(local),
                    Emit.Call(Touch(assembly, pinned.ElementType)),
                ]);
            statistics.Rewrite(method.FullName);
            changed = true;
        }

        body.EndEdit();
        return changed;
    }

    // The end of a fixed statement stores null. (A store that is also reached by a branch gets what is pinned that way: compilers write it so for arrays that may be empty.)
    private static bool EndsFixed(Instruction store)
    {
        Instruction? value = store.Previous;
        return value?.OpCode == OpCodes.Ldnull
            || (value?.OpCode.Code is Code.Conv_U or Code.Conv_I && value.Previous?.OpCode == OpCodes.Ldc_I4 && value.Previous.Operand is 0);
    }

    /// <summary>The touch that fits the type of the pinned local.</summary>
    private static MethodReference Touch(AssemblyUnderRewrite assembly, TypeReference type)
    {
        TypeSystem types = assembly.Module.TypeSystem;
        ByReferenceType reference = new(types.Byte);
        return type.IsByReference
            ? InjectedRuntime.Method(assembly, TouchReferenceName, types.Void, reference, reference)
            : InjectedRuntime.Method(assembly, TouchObjectName, types.Void, types.Object);
    }

    /// <summary>The pin that fits it. What it returns has the type of what it gets, as far as the JIT and the collector's tables are concerned.</summary>
    private static MethodReference Pin(AssemblyUnderRewrite assembly, TypeReference type)
    {
        TypeReference pinned = type.IsByReference ? new ByReferenceType(assembly.Module.TypeSystem.Byte) : assembly.Module.TypeSystem.Object;
        return InjectedRuntime.Method(assembly, type.IsByReference ? PinReferenceName : PinObjectName, pinned, pinned);
    }

    /// <summary>
    /// While the runtime's table of handles is changed, the target is pinned by the stack, so that the heap can count the handle of an object that stays.
    /// The stores that are made here get their pin like all others.
    /// </summary>
    private static void PinTargetsOfHandles(AssemblyUnderRewrite assembly)
    {
        string? generic = assembly.Names.PinnedHandle;
        RequireNoOtherPinnedHandles(assembly, assembly.Method(Imports, "RhHandleAlloc", "System.Object", HandleType), generic);
        MethodDefinition create = assembly.Method(Handle, ".ctor", "System.Object", HandleType);
        PinTarget(
            assembly,
            create,
            create.Parameters[0],
            skip => [Emit.Load(create.Parameters[1]), Emit.Load(PinnedHandle), Emit.JumpUnlessEqual(skip)]);

        MethodDefinition set = assembly.Method(Handle, "set_Target", "System.Object");
        PinTarget(
            assembly,
            set,
            set.Parameters[0],
            skip =>
            [
                Emit.Load(set.Body.ThisParameter),
                Emit.LoadField(assembly.Field(Handle, "_handle", "System.IntPtr")),
                Emit.Call(assembly.Method(Handle, "IsPinned", "System.IntPtr")),
                Emit.JumpIfFalse(skip),
            ]);
        if (generic is not null)
        {
            PinTargetOf(assembly, generic, ".ctor", "InternalAlloc");
            PinTargetOf(assembly, generic, "set_Target", "InternalSet");
        }
    }

    // A generic handle gives its target, as an object, to the runtime: between the two it goes through a pinned local.
    private static void PinTargetOf(AssemblyUnderRewrite assembly, string type, string name, string passedTo)
    {
        MethodDefinition method = assembly.Method(type, name, "T");
        MethodBody body = method.Body;
        Instruction[] targets = [.. body.Instructions.Where(instruction => instruction.OpCode == OpCodes.Box)];
        if (targets.Length != 1 || !body.Instructions.SkipWhile(instruction => instruction != targets[0]).Any(instruction => instruction.Calls(Handle, passedTo)))
        {
            throw assembly.Unexpected(method, $"one box of the target, and a call of GCHandle.{passedTo} behind it");
        }

        VariableDefinition local = new(new PinnedType(assembly.Module.TypeSystem.Object));
        body.Variables.Add(local);
        body.InitLocals = true;
        body.BeginEdit();
        body.InsertAfter(targets[0], Emit.Store(local), Emit.Load(local));
        body.EndEdit();
    }

    /// <summary>
    /// No other member may make a handle of type Pinned: its target would not be held by a pinned local. All others name the type as a constant, or have it
    /// from their callers.
    /// </summary>
    private static void RequireNoOtherPinnedHandles(AssemblyUnderRewrite assembly, MethodDefinition allocate, string? generic)
    {
        foreach ((MethodDefinition caller, Instruction call) in assembly.CallsOf(allocate))
        {
            if (caller.IsConstructor && (caller.DeclaringType.FullName == Handle || caller.DeclaringType.FullName == generic))
            {
                continue;
            }

            Instruction type = call.Previous;
            if (caller.Parameters.LastOrDefault()?.ParameterType.FullName == HandleType && type.OpCode.Code is Code.Ldarg_1 or Code.Ldarg_2)
            {
                RequireNoOtherPinnedHandles(assembly, caller, generic);
            }
            else if (type.OpCode.Code is not (Code.Ldc_I4_0 or Code.Ldc_I4_1 or Code.Ldc_I4_2 or Code.Ldc_I4_5))
            {
                throw assembly.Unexpected(caller, $"handles of type Pinned to be made by the constructor of GCHandle{(generic is null ? "" : " and that of " + generic)} only");
            }
        }
    }

    private static void PinTarget(AssemblyUnderRewrite assembly, MethodDefinition method, ParameterDefinition target, Func<Instruction, Instruction[]> unlessPinned)
    {
        MethodBody body = method.Body;
        if (!body.Instructions.Any(instruction => instruction.Calls("System.Runtime.InteropServices.Marshal", "IsPinnable")))
        {
            throw assembly.Unexpected(method, "a call of Marshal.IsPinnable");
        }

        VariableDefinition local = new(new PinnedType(assembly.Module.TypeSystem.Object));
        body.Variables.Add(local);
        body.InitLocals = true;
        body.BeginEdit();
        Instruction start = Emit.Label();
        body.InsertBefore(
            body.Instructions[0],
            [
                .. unlessPinned(start),
                Emit.Load(target),
                Emit.Store(local),
                Emit.Load(local),
                Emit.Store(target),
                start,
            ]);
        body.EndEdit();
    }
}
