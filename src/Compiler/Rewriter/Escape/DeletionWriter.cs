using System.Collections.Generic;
using System.Linq;
using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Rewriter.Escape;

/// <summary>
/// Writes a plan into the code of a method. Each object gets a local of its own, which is null until it is made and from its deletion on: so a place that is reached on another path deletes nothing.
/// </summary>
public sealed class DeletionWriter(MethodDefinition method)
{
    private readonly ModuleDefinition _module = method.Module;

    /// <summary>Changes the method, whose code is the one that was analysed.</summary>
    public void Write(DeletionPlan plan)
    {
        MethodBody body = method.Body;
        body.BeginEdit();
        Instruction[] code = [.. body.Instructions];
        VariableDefinition[] locals = [.. plan.Objects.Select(_ => NewLocal(_module.TypeSystem.Object))];
        body.InitLocals = true;
        List<Instruction>[] before = [.. code.Select(_ => new List<Instruction>())];
        List<Instruction>[] after = [.. code.Select(_ => new List<Instruction>())];
        for (int i = 0; i < plan.Objects.Count; i++)
        {
            PlannedObject made = plan.Objects[i];
            Keep(code[made.Index], locals[i], made.Arguments, before[made.Index], after[made.Index]);
        }

        foreach ((int place, int i) in plan.Deletions)
        {
            // Before what keeps the arguments of a call that begins here.
            before[place].InsertRange(
                0,
                [
                    Emit.Load(locals[i]),
                    Emit.Null(),
                    Emit.Store(locals[i]),
                    Emit.Call(Helper(plan.Objects[i])),
                ]);
        }

        Rebuild(body, code, before, after);
        body.EndEdit();
    }

    // The new object is on the stack, and may be one of the arguments.
    private void Keep(Instruction made, VariableDefinition local, ulong arguments, List<Instruction> before, List<Instruction> after)
    {
        after.Add(Emit.Again());
        after.Add(Emit.Store(local));
        if (arguments == 0)
        {
            return;
        }

        VariableDefinition[] copies = [.. DeletionPlanner.ArgumentTypes((MethodReference)made.Operand).Select(NewLocal)];
        before.AddRange(copies.Reverse().Select(copy => Emit.Store(copy)));
        before.AddRange(copies.Select(copy => Emit.Load(copy)));
        for (int i = 0; i < copies.Length; i++)
        {
            if ((arguments >> i & 1) != 0)
            {
                Instruction next = Emit.Label();
                after.AddRange(
                [
                    Emit.Load(local),
                    Emit.Load(copies[i]),
                    Emit.JumpUnlessEqual(next),
                    Emit.Null(),
                    Emit.Store(local),
                    next,
                ]);
            }
        }
    }

    private VariableDefinition NewLocal(TypeReference type)
    {
        VariableDefinition local = new(type);
        method.Body.Variables.Add(local);
        return local;
    }

    // Branches and handlers refer to an instruction: it becomes the first of what comes before it, and a copy takes its place.
    private static void Rebuild(MethodBody body, Instruction[] code, List<Instruction>[] before, List<Instruction>[] after)
    {
        body.Instructions.Clear();
        for (int i = 0; i < code.Length; i++)
        {
            Instruction at = code[i];
            if (before[i] is [Instruction first, ..])
            {
                Instruction copy = Emit.Label();
                (copy.OpCode, copy.Operand) = (at.OpCode, at.Operand);
                (at.OpCode, at.Operand) = (first.OpCode, first.Operand);
                body.Instructions.Add(at);
                body.Append(before[i].Skip(1));
                body.Instructions.Add(copy);
            }
            else
            {
                body.Instructions.Add(at);
            }

            body.Append(after[i]);
        }
    }

    private MethodReference Helper(PlannedObject made)
    {
        const string Assembly = "Freehold";
        AssemblyNameReference? scope = _module.AssemblyReferences.FirstOrDefault(reference => reference.Name == Assembly);
        if (scope is null)
        {
            scope = new AssemblyNameReference(Assembly, new System.Version(0, 0, 0, 0));
            _module.AssemblyReferences.Add(scope);
        }

        string name = made.IsResult ? made.HasParts ? "DeleteReturnedWithParts" : "DeleteReturned" : made.HasParts ? "DeleteWithParts" : "Delete";
        MethodReference helper = new(name, _module.TypeSystem.Void, new TypeReference("System", "CompilerDeletion", _module, scope)) { HasThis = false };
        helper.Parameters.Add(new ParameterDefinition(_module.TypeSystem.Object));
        return helper;
    }
}
