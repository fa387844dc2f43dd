using System.Collections.Generic;
using System.Linq;
using System.Threading;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.FlowAnalysis;
using Microsoft.CodeAnalysis.Operations;

namespace Freehold.Analyzers.Flow;

/// <summary>What one operation does to a <see cref="FlowState"/>, in the order of evaluation.</summary>
internal sealed class DeletionTransfer(ControlFlowGraph graph, FlowVariables variables, HeapSymbols heap, CancellationToken cancellation)
{
    private readonly Dictionary<IOperation, Finding> _findings = [];

    public IReadOnlyCollection<Finding> Findings => _findings.Values;

    public void Apply(IOperation operation, FlowState state, bool report) => new Step(this, state, report).Visit(operation);

    public void ApplyBranchValue(BasicBlock block, IOperation value, FlowState state, bool report)
    {
        var step = new Step(this, state, report);
        bool leaves = block.FallThroughSuccessor?.Semantics is ControlFlowBranchSemantics.Return or ControlFlowBranchSemantics.Throw;
        if (leaves)
        {
            step.UseOrVisit(value);
        }
        else
        {
            step.Visit(value);
        }
    }

    private readonly struct Step(DeletionTransfer transfer, FlowState state, bool report)
    {
        public void Visit(IOperation? operation)
        {
            switch (operation)
            {
                case null or INameOfOperation or ITypeOfOperation or ISizeOfOperation or ILocalFunctionOperation:
                    break;
                case IFlowAnonymousFunctionOperation function:
                    Capture(function);
                    break;
                case IFlowCaptureOperation capture:
                    Assign(transfer.Variables.Of(capture), capture.Value);
                    break;
                case ISimpleAssignmentOperation { IsRef: false } assignment:
                    Assign(assignment);
                    break;
                case IDeconstructionAssignmentOperation assignment:
                    Visit(assignment.Value);
                    ForgetAll(assignment.Target);
                    if (assignment.Target.DescendantsAndSelf().Any(MayRunCode))
                    {
                        ForgetFields();
                    }

                    break;
                case IPatternOperation pattern:
                    VisitChildren(pattern);
                    ForgetDeclared(pattern);
                    break;
                case IIsPatternOperation { Pattern: IDeclarationPatternOperation { DeclaredSymbol: ILocalSymbol declared } } test:
                    UseOrVisit(test.Value);
                    Name(declared, test.Value);
                    break;
                case IAssignmentOperation assignment:
                    VisitChildren(assignment);
                    Forget(assignment.Target);
                    break;
                case IInvocationOperation call when transfer.Heap.IsDeletion(call):
                    Delete(call);
                    break;
                case IInvocationOperation call:
                    Call(call);
                    break;
                case IBinaryOperation comparison when comparison.IsReferenceComparison():
                    Compare(comparison.LeftOperand);
                    Compare(comparison.RightOperand);
                    break;
                case IIsNullOperation test:
                    Compare(test.Operand);
                    break;
                case IIsPatternOperation { Pattern: IConstantPatternOperation or INegatedPatternOperation { Pattern: IConstantPatternOperation } } test when IsNullTest(test):
                    Compare(test.Value);
                    break;
                case IConversionOperation conversion:
                    Convert(conversion);
                    break;
                case IObjectCreationOperation or IPropertyReferenceOperation or IAwaitOperation or IEventAssignmentOperation or IFunctionPointerInvocationOperation
                    or IDynamicInvocationOperation or IReturnOperation:
                    VisitChildren(operation);
                    ForgetFields();
                    break;
                case IArgumentOperation { Parameter.RefKind: not RefKind.None } argument when transfer.Variables.Of(argument.Value) >= 0:
                    Refer(argument, argument.Parameter.RefKind);
                    break;
                case IExpressionStatementOperation statement:
                    Visit(statement.Operation);
                    break;
                default:
                    if (transfer.Variables.Of(operation) >= 0)
                    {
                        Use(operation);
                    }
                    else
                    {
                        VisitChildren(operation);
                    }

                    break;
            }
        }

        /// <summary>A value that leaves the method, or is stored.</summary>
        public void UseOrVisit(IOperation value)
        {
            if (transfer.Variables.Of(value) >= 0)
            {
                Use(value);
            }
            else
            {
                Visit(value);
            }
        }

        private void VisitChildren(IOperation operation)
        {
            foreach (IOperation child in operation.ChildOperations)
            {
                Visit(child);
            }
        }

        private static bool IsNullTest(IIsPatternOperation test)
        {
            IPatternOperation pattern = test.Pattern is INegatedPatternOperation negated ? negated.Pattern : test.Pattern;
            return pattern is IConstantPatternOperation { Value.ConstantValue: { HasValue: true, Value: null } };
        }

        private void Compare(IOperation operand)
        {
            if (transfer.Variables.Of(operand) < 0)
            {
                Visit(operand);
            }
            else
            {
                UseOwner(operand);
            }
        }

        private void Convert(IConversionOperation conversion)
        {
            if (conversion.OperatorMethod is null && conversion.Conversion.IsReference && conversion.IsImplicit && transfer.Variables.Of(conversion) < 0)
            {
                Visit(conversion.Operand);
            }
            else
            {
                UseOrVisit(conversion.Operand);
            }
        }

        private void Assign(ISimpleAssignmentOperation assignment)
        {
            int target = transfer.Variables.Of(assignment.Target);
            if (target >= 0)
            {
                Assign(target, assignment.Value);
                UseOwner(assignment.Target);
                return;
            }

            // A local that is not followed is a copy like another; a field or an element keeps the object.
            VisitTarget(assignment.Target);
            if (assignment.Target is ILocalReferenceOperation or IDiscardOperation)
            {
                Compare(assignment.Value);
            }
            else
            {
                UseOrVisit(assignment.Value);
            }

            if (MayRunCode(assignment.Target))
            {
                ForgetFields();
            }
        }

        // A setter may change any field. A capture that is no variable stands for a property or an element.
        private static bool MayRunCode(IOperation target) =>
            target is IPropertyReferenceOperation or IImplicitIndexerReferenceOperation or IDynamicMemberReferenceOperation or IDynamicIndexerAccessOperation or IFlowCaptureReferenceOperation;

        private void VisitTarget(IOperation target)
        {
            if (target is not ILocalReferenceOperation and not IParameterReferenceOperation and not IFlowCaptureReferenceOperation)
            {
                VisitChildren(target);
            }
        }

        private void Assign(int target, IOperation value)
        {
            int from = transfer.Variables.Of(value);
            if (from >= 0)
            {
                UseOwner(value);
                // A cast looks at the object's type.
                for (IOperation part = value; part is IConversionOperation conversion; part = conversion.Operand)
                {
                    if (!conversion.IsImplicit && !conversion.Conversion.IsIdentity && (state[from] & Facts.Deleted) != 0)
                    {
                        Use(value);
                        break;
                    }
                }

                if (target >= 0)
                {
                    state.Copy(target, from);
                }
            }
            else
            {
                Visit(value);
                if (target >= 0)
                {
                    state.Set(target, Facts.Alive | Origins.Of(value, transfer.Heap));
                }
            }
        }

        private void Delete(IInvocationOperation call)
        {
            IOperation argument = call.Arguments[0].Value;
            int variable = transfer.Variables.Of(argument);
            if (variable < 0)
            {
                Visit(argument);
                if (report)
                {
                    transfer.Record(call, argument.Unconverted().Text(), isDeletion: true, Facts.Alive | Origins.Of(argument, transfer.Heap));
                }
            }
            else
            {
                UseOwner(argument);
                Facts facts = state[variable];
                // A Type needs no assignment in sight.
                Facts own = Origins.Of(argument, transfer.Heap);
                facts = own is Facts.Other or Facts.None ? facts : (facts & ~Facts.Origins) | own;
                if (report)
                {
                    transfer.Record(call, transfer.Variables.Name(variable), isDeletion: true, facts);
                }
            }

            // Its finalizer is code of the program.
            ForgetFieldsBut(variable);
            if (variable >= 0)
            {
                state.Delete(variable);
            }
        }

        private void Call(IInvocationOperation call)
        {
            // A thread can leave the lock of a deleted object; what compares references never throws.
            string name = call.TargetMethod.Name;
            bool harmless = (name == "Exit" && call.TargetMethod.ContainingType.Name == "Monitor")
                || (name == "ReferenceEquals" && call.TargetMethod.ContainingType.SpecialType == SpecialType.System_Object)
                || (name == "KeepAlive" && call.TargetMethod.ContainingType.Name == "GC");
            if (harmless)
            {
                foreach (IArgumentOperation argument in call.Arguments)
                {
                    if (argument.Parameter?.RefKind == RefKind.None)
                    {
                        Compare(argument.Value);
                    }
                }

                return;
            }

            VisitChildren(call);
            ForgetFields();
        }

        private void Capture(IFlowAnonymousFunctionOperation function)
        {
            if (!report)
            {
                return;
            }

            ControlFlowGraph body = transfer.Graph.GetAnonymousFunctionControlFlowGraph(function, transfer.Cancellation);
            foreach (IOperation inside in body.Blocks.SelectMany(FlowVariables.OperationsOf).SelectMany(operation => operation.DescendantsAndSelf()))
            {
                int variable = inside switch
                {
                    ILocalReferenceOperation local => transfer.Variables.Of(local.Local),
                    IParameterReferenceOperation parameter => transfer.Variables.Of(parameter.Parameter),
                    _ => -1,
                };
                if (variable >= 0 && (state[variable] & Facts.Deleted) != 0)
                {
                    (_, IOperation? user) = inside.Outermost();
                    bool isDeletion = user is IArgumentOperation { Parent: IInvocationOperation call } && transfer.Heap.IsDeletion(call);
                    transfer.Record(inside, transfer.Variables.Name(variable), isDeletion, Facts.Alive | Facts.Deleted | Facts.Other);
                }
            }
        }

        // Who gets a reference to the variable may write before it reads; what only exchanges values does not look at the object.
        private void Refer(IArgumentOperation argument, RefKind kind)
        {
            UseOwner(argument.Value);
            bool exchanges = argument.Parent is IInvocationOperation { TargetMethod.ContainingType: { Name: "Interlocked" or "Volatile" or "Unsafe", ContainingNamespace.Name: "Threading" or "CompilerServices" } };
            if (report && kind != RefKind.Out && !exchanges)
            {
                int variable = transfer.Variables.Of(argument.Value);
                transfer.Record(argument.Value, transfer.Variables.Name(variable), isDeletion: false, kind == RefKind.Ref ? state[variable] | Facts.Alive : state[variable]);
            }

            if (kind is RefKind.Ref or RefKind.Out)
            {
                Forget(argument.Value);
            }
        }

        // A field of the object that runs is read or written there.
        private void UseOwner(IOperation value)
        {
            if (value.Unconverted() is IFieldReferenceOperation { Instance: { } instance })
            {
                Visit(instance);
            }
        }

        private void Use(IOperation value)
        {
            UseOwner(value);
            int variable = transfer.Variables.Of(value);
            if (report)
            {
                transfer.Record(value, transfer.Variables.Name(variable), isDeletion: false, state[variable]);
            }
        }

        private void Forget(IOperation target)
        {
            int variable = transfer.Variables.Of(target);
            if (variable >= 0)
            {
                state.Set(variable, Facts.Alive | Facts.Other);
            }
        }

        private void ForgetAll(IOperation target)
        {
            Forget(target);
            foreach (IOperation part in target.ChildOperations)
            {
                ForgetAll(part);
            }
        }

        private void ForgetDeclared(IPatternOperation pattern)
        {
            ISymbol? declared = pattern switch
            {
                IDeclarationPatternOperation declaration => declaration.DeclaredSymbol,
                IRecursivePatternOperation recursive => recursive.DeclaredSymbol,
                IListPatternOperation list => list.DeclaredSymbol,
                _ => null,
            };
            if (declared is not null && transfer.Variables.Of(declared) is var variable && variable >= 0)
            {
                state.Set(variable, Facts.Alive | Facts.Other);
            }
        }

        // A pattern gives an object another name.
        private void Name(ILocalSymbol declared, IOperation value)
        {
            int variable = transfer.Variables.Of(declared), from = transfer.Variables.Of(value);
            if (variable >= 0 && from >= 0)
            {
                state.Copy(variable, from);
            }
            else if (variable >= 0)
            {
                state.Set(variable, Facts.Alive | Origins.Of(value, transfer.Heap));
            }
        }

        private void ForgetFields() => ForgetFieldsBut(-1);

        private void ForgetFieldsBut(int kept)
        {
            foreach (int field in transfer.Variables.Fields)
            {
                if (field != kept)
                {
                    state.Set(field, Facts.Alive | Facts.Other);
                }
            }
        }
    }

    private ControlFlowGraph Graph => graph;

    private CancellationToken Cancellation => cancellation;

    private FlowVariables Variables => variables;

    private HeapSymbols Heap => heap;

    private void Record(IOperation operation, string name, bool isDeletion, Facts facts)
    {
        if (_findings.TryGetValue(operation, out Finding? finding))
        {
            finding.Facts |= facts;
        }
        else
        {
            _findings.Add(operation, new Finding(operation, name, isDeletion, facts));
        }
    }
}
