using System;
using System.Collections.Generic;
using System.Linq;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.Diagnostics;
using Microsoft.CodeAnalysis.Operations;

namespace Freehold.Analyzers;

/// <summary>The walk over a body: the rules that need no flow of control, and what the flow analysis has to know before.</summary>
internal sealed class BodyWalker(OperationBlockAnalysisContext context, HeapSymbols heap, BodyOptions options) : OperationWalker
{
    private readonly List<(ISymbol Variable, IOperation Around)> _enumerated = [];
    private readonly List<(ISymbol Variable, IOperation Around)> _locked = [];
    private readonly List<IMethodSymbol> _functions = [];
    private readonly HashSet<ISymbol> _assigned = new(SymbolEqualityComparer.Default);
    // Those among them that may have had an object before, which went somewhere.
    private readonly HashSet<ISymbol> _replaced = new(SymbolEqualityComparer.Default);
    // With the event that keeps the delegate, if it is one.
    private readonly Dictionary<ISymbol, ISymbol?> _capturedForLater = new(SymbolEqualityComparer.Default);
    private readonly HashSet<ISymbol> _eventsLeft = new(SymbolEqualityComparer.Default);
    private readonly List<(IInvocationOperation Call, ISymbol Member)> _ofStatics = [];
    private readonly List<(Diagnostic Diagnostic, ISymbol Field)> _ofOwned = [];
    private readonly List<(Diagnostic Diagnostic, ISymbol? Event)> _ofCaptured = [];
    private readonly List<IInvocationOperation> _heapCalls = [];
    private readonly Dictionary<ISymbol, (IVariableDeclaratorOperation Declarator, ITypeSymbol Made)> _holders = new(SymbolEqualityComparer.Default);
    private bool _asksWhichHeap;
    private bool _hasScope;

    /// <summary>Whether the flow analysis has something to find.</summary>
    public bool HasDeletion { get; private set; }

    /// <summary>Variables that one function of the body declares and another one writes.</summary>
    public HashSet<ISymbol> Untracked { get; } = new(SymbolEqualityComparer.Default);

    /// <summary>Reports what only the whole body tells.</summary>
    public void Finish()
    {
        foreach ((IInvocationOperation call, ISymbol member) in _ofStatics)
        {
            if (!_assigned.Contains(member))
            {
                Report(Rule.StaticDeleted, call, $"Heap.{call.TargetMethod.Name}", member.Name);
            }
        }

        // A field that gets another value has given its object away.
        foreach ((Diagnostic diagnostic, ISymbol field) in _ofOwned)
        {
            if (!_replaced.Contains(field))
            {
                context.ReportDiagnostic(diagnostic);
            }
        }

        foreach ((Diagnostic diagnostic, ISymbol? joined) in _ofCaptured)
        {
            if (joined is null || !_eventsLeft.Contains(joined))
            {
                context.ReportDiagnostic(diagnostic);
            }
        }

        if (options.IsLibrary && !_asksWhichHeap)
        {
            foreach (IInvocationOperation call in _heapCalls)
            {
                Report(Rule.LibraryCall, call, $"Heap.{call.TargetMethod.Name}");
            }
        }

        if (!options.KeepsLocals && !_hasScope)
        {
            foreach ((IVariableDeclaratorOperation declarator, _) in _holders.Values)
            {
                if (!_assigned.Contains(declarator.Symbol))
                {
                    context.ReportDiagnostic(Diagnostic.Create(Rule.LocalDropped, declarator.Symbol.Locations[0], declarator.Symbol.Name));
                }
            }
        }
    }

    public override void VisitInvocation(IInvocationOperation operation)
    {
        if (SymbolEqualityComparer.Default.Equals(operation.TargetMethod.ContainingType, heap.Heap))
        {
            _heapCalls.Add(operation);
            _hasScope |= operation.TargetMethod.Name == "Scope";
            if (heap.IsDeletion(operation))
            {
                HasDeletion = true;
                Deletion(operation);
            }
        }
        else if (SymbolEqualityComparer.Default.Equals(operation.TargetMethod.ContainingType, heap.Unsafe))
        {
            UnsafeCall(operation);
        }

        base.VisitInvocation(operation);
    }

    public override void VisitPropertyReference(IPropertyReferenceOperation operation)
    {
        _asksWhichHeap |= operation.Property.Name == "IsManual" && SymbolEqualityComparer.Default.Equals(operation.Property.ContainingType, heap.Heap);
        base.VisitPropertyReference(operation);
    }

    public override void VisitForEachLoop(IForEachLoopOperation operation)
    {
        Visit(operation.Collection);
        int count = _enumerated.Count;
        IOperation collection = operation.Collection.Unconverted();
        // The keys and values of a dictionary are views of it.
        collection = collection is IPropertyReferenceOperation { Property.Name: "Keys" or "Values", Instance: { } dictionary } ? dictionary : collection;
        if (collection.Variable() is { } variable)
        {
            _enumerated.Add((variable, operation));
        }

        Visit(operation.LoopControlVariable);
        Visit(operation.Body);
        _enumerated.RemoveRange(count, _enumerated.Count - count);
    }

    public override void VisitLock(ILockOperation operation)
    {
        Visit(operation.LockedValue);
        int count = _locked.Count;
        if (operation.LockedValue.Variable() is { } variable)
        {
            _locked.Add((variable, operation));
        }

        Visit(operation.Body);
        _locked.RemoveRange(count, _locked.Count - count);
    }

    public override void VisitAnonymousFunction(IAnonymousFunctionOperation operation)
    {
        if (RunsLater(operation, out ISymbol? joined))
        {
            foreach (IOperation inside in operation.Body.Descendants())
            {
                ISymbol? captured = (inside as ILocalReferenceOperation)?.Local ?? (ISymbol?)(inside as IParameterReferenceOperation)?.Parameter;
                if (captured is not null && !Contains(operation.Symbol, captured) && !(inside.Outermost().User is IArgumentOperation { Parent: IInvocationOperation deletion } && heap.IsDeletion(deletion)))
                {
                    _capturedForLater[captured] = joined;
                }
            }
        }

        VisitFunction(operation.Symbol, () => base.VisitAnonymousFunction(operation));
    }

    public override void VisitLocalFunction(ILocalFunctionOperation operation) => VisitFunction(operation.Symbol, () => base.VisitLocalFunction(operation));

    public override void VisitVariableDeclarator(IVariableDeclaratorOperation operation)
    {
        if (operation is { Initializer.Value: { Type: { } } value, Parent.Parent: IVariableDeclarationGroupOperation { Parent: not IUsingDeclarationOperation and not IUsingOperation } }
            && operation.Symbol.RefKind == RefKind.None && HeldObject.IsMade(value) && value.Unconverted().Type is { } made)
        {
            _holders[operation.Symbol] = (operation, made);
        }

        base.VisitVariableDeclarator(operation);
    }

    public override void VisitLocalReference(ILocalReferenceOperation operation)
    {
        if (_holders.TryGetValue(operation.Local, out (IVariableDeclaratorOperation Declarator, ITypeSymbol Made) holder) && (!IsOfThisFunction(operation.Local) || !HeldObject.IsContained(operation, holder.Made)))
        {
            _holders.Remove(operation.Local);
        }

        Reference(operation, operation.Local);
        base.VisitLocalReference(operation);
    }

    public override void VisitParameterReference(IParameterReferenceOperation operation)
    {
        Reference(operation, operation.Parameter);
        base.VisitParameterReference(operation);
    }

    public override void VisitFieldReference(IFieldReferenceOperation operation)
    {
        Reference(operation, operation.Field);
        if (operation.Type is { IsReferenceType: true } && heap.IsOwned(operation.Field))
        {
            OwnedField(operation);
        }

        base.VisitFieldReference(operation);
    }

    public override void VisitEventAssignment(IEventAssignmentOperation operation)
    {
        if (!operation.Adds && operation.EventReference is IEventReferenceOperation { Event: { } left })
        {
            _eventsLeft.Add(left);
        }

        base.VisitEventAssignment(operation);
    }

    public override void VisitConversion(IConversionOperation operation)
    {
        if (operation.Operand.Type is IPointerTypeSymbol { PointedAtType: { IsReferenceType: true } pointed } && operation.Type is IPointerTypeSymbol { PointedAtType: { } number } && IsNumber(number)
            && !IsCompared(operation))
        {
            Report(Rule.ReferenceAsNumber, operation, pointed.ToDisplayString(SymbolDisplayFormat.MinimallyQualifiedFormat));
        }

        if (operation.Operand.Type is IPointerTypeSymbol { PointedAtType.SpecialType: SpecialType.System_TypedReference } && operation.Type is IPointerTypeSymbol { PointedAtType: IPointerTypeSymbol })
        {
            Report(Rule.ReferenceAsNumber, operation, "object");
        }

        base.VisitConversion(operation);
    }

    private static bool Contains(IMethodSymbol function, ISymbol symbol)
    {
        for (ISymbol? container = symbol.ContainingSymbol; container is not null; container = container.ContainingSymbol)
        {
            if (SymbolEqualityComparer.Default.Equals(container, function))
            {
                return true;
            }
        }

        return false;
    }

    private bool IsOfThisFunction(ISymbol symbol) => _functions.Count == 0 || SymbolEqualityComparer.Default.Equals(symbol.ContainingSymbol, _functions[_functions.Count - 1]);

    // It runs when it is called: neither the locks nor the loops around its text need be around it then.
    private void VisitFunction(IMethodSymbol function, Action visit)
    {
        (ISymbol, IOperation)[] enumerated = [.. _enumerated], locked = [.. _locked];
        _enumerated.Clear();
        _locked.Clear();
        _functions.Add(function);
        visit();
        _functions.RemoveAt(_functions.Count - 1);
        _enumerated.AddRange(enumerated);
        _locked.AddRange(locked);
    }

    private void Deletion(IInvocationOperation call)
    {
        IOperation argument = call.Arguments[0].Value;
        IOperation value = argument.Unconverted();
        if (argument is IConversionOperation { Operand.Type: { IsValueType: true } boxed }
            && !(call.TargetMethod.Name == "DeleteAll" && boxed.AllInterfaces.Any(one => one.SpecialType == SpecialType.System_Collections_IEnumerable)))
        {
            Report(Rule.CannotBeDeleted, call, value.Text(), "boxed for this call: the object that is deleted is a new one", $"Heap.{call.TargetMethod.Name}");
        }
        else if (value is IPropertyReferenceOperation { Instance: null, Property: { SetMethod: null, Type: { SpecialType: not SpecialType.System_String, TypeKind: not TypeKind.Array } } property }
            && !HeapSymbols.IsOrDerivesFrom(property.Type, heap.Thread) && !HeapSymbols.IsOrDerivesFrom(property.Type, heap.Type) && (property.DeclaringSyntaxReferences.IsEmpty || IsAutomatic(property)))
        {
            _ofStatics.Add((call, property));
        }
        else if (value is IFieldReferenceOperation { Field: { IsStatic: true, IsReadOnly: false, IsConst: false } field })
        {
            _ofStatics.Add((call, field));
        }

        if (value.Variable() is not { } variable)
        {
            return;
        }

        if (_enumerated.FirstOrDefault(one => SymbolEqualityComparer.Default.Equals(one.Variable, variable)) is { Around: { } loop } && !Operations.IsFollowedByJump(call.Syntax, loop.Syntax))
        {
            Report(Rule.EnumeratedDeleted, call, value.Text());
        }

        if (_locked.Any(one => SymbolEqualityComparer.Default.Equals(one.Variable, variable)))
        {
            Report(Rule.DeletedInLock, call, value.Text());
        }

        if (_capturedForLater.TryGetValue(variable, out ISymbol? joined))
        {
            _ofCaptured.Add((Diagnostic.Create(Rule.CapturedDeleted, call.Syntax.GetLocation(), value.Text()), joined));
        }
    }

    private static bool IsAutomatic(IPropertySymbol property) => property.ContainingType.GetMembers().OfType<IFieldSymbol>().Any(field => SymbolEqualityComparer.Default.Equals(field.AssociatedSymbol, property));

    private void UnsafeCall(IInvocationOperation call)
    {
        IMethodSymbol method = call.TargetMethod;
        bool reads = method switch
        {
            { Name: "As", TypeArguments.Length: 2 } => method.TypeArguments[0].IsReferenceType && IsNumber(method.TypeArguments[1]),
            { Name: "AsPointer", TypeArguments.Length: 1 } => method.TypeArguments[0].IsReferenceType,
            _ => false,
        };
        if (reads && !IsCompared(call))
        {
            Report(Rule.ReferenceAsNumber, call, method.TypeArguments[0].ToDisplayString(SymbolDisplayFormat.MinimallyQualifiedFormat));
        }
    }

    private static bool IsNumber(ITypeSymbol type) => type is IPointerTypeSymbol || type.SpecialType is >= SpecialType.System_SByte and <= SpecialType.System_UInt64 or SpecialType.System_IntPtr or SpecialType.System_UIntPtr;

    // A comparison within the method is one of references: the publish sees to that.
    private static bool IsCompared(IOperation number)
    {
        IOperation? user = number.Parent;
        while (user is IConversionOperation || user?.Kind == OperationKind.None)
        {
            user = user.Parent;
        }

        return user is IBinaryOperation { OperatorKind: BinaryOperatorKind.Equals or BinaryOperatorKind.NotEquals };
    }

    private void Reference(IOperation operation, ISymbol symbol)
    {
        bool written = operation.Parent switch
        {
            IAssignmentOperation assignment => assignment.Target == operation,
            IArgumentOperation { Parameter.RefKind: RefKind.Ref or RefKind.Out } => true,
            ITupleOperation => IsTarget(operation),
            IDeclarationExpressionOperation => true,
            _ => false,
        };
        if (written)
        {
            _assigned.Add(symbol);
            if (operation.Parent is not ICoalesceAssignmentOperation)
            {
                _replaced.Add(symbol);
            }

            if (symbol is not IFieldSymbol && !IsOfThisFunction(symbol))
            {
                Untracked.Add(symbol);
            }
        }
    }

    private static bool IsTarget(IOperation operation)
    {
        IOperation child = operation;
        while (child.Parent is ITupleOperation tuple)
        {
            child = tuple;
        }

        return child.Parent is IDeconstructionAssignmentOperation assignment && assignment.Target == child;
    }

    private void OwnedField(IFieldReferenceOperation field)
    {
        (IOperation value, IOperation? user) = field.Outermost();
        while (IsResult(value, user))
        {
            (value, user) = user!.Outermost();
        }

        bool isGiven = user is IReturnOperation || (user is ISimpleAssignmentOperation { Target: IParameterReferenceOperation { Parameter.RefKind: RefKind.Out or RefKind.Ref } } given && given.Value == value);
        if (isGiven && _functions.Count == 0 && context.OwningSymbol is IMethodSymbol { DeclaredAccessibility: not Accessibility.Private } method)
        {
            string member = (method.AssociatedSymbol ?? method).Name;
            _ofOwned.Add((Diagnostic.Create(Rule.OwnedReturned, field.Syntax.GetLocation(), field.Field.Name, member), field.Field));
        }
        else if (user is ISimpleAssignmentOperation { IsRef: false } assignment && assignment.Value == value && IsOfAnother(assignment.Target) && !IsOfOwned(assignment.Target))
        {
            _ofOwned.Add((Diagnostic.Create(Rule.OwnedStored, field.Syntax.GetLocation(), field.Field.Name, assignment.Target.Text()), field.Field));
        }
    }

    // Whether an expression may be the value of one around it.
    private static bool IsResult(IOperation value, IOperation? user) => user switch
    {
        ICoalesceOperation => true,
        ICoalesceAssignmentOperation assignment => assignment.Target == value,
        IConditionalOperation choice => choice.Condition != value && choice.Type is not null,
        ISwitchExpressionArmOperation arm => arm.Value == value,
        ISwitchExpressionOperation choice => choice.Value != value,
        _ => false,
    };

    // Two parts of one owner go together.
    private bool IsOfOwned(IOperation target) =>
        target is IMemberReferenceOperation { Instance: IFieldReferenceOperation { Instance: IInstanceReferenceOperation { ReferenceKind: InstanceReferenceKind.ContainingTypeInstance }, Field: { } owner } } && heap.IsOwned(owner);

    private static bool IsOfAnother(IOperation target) => target switch
    {
        IFieldReferenceOperation { Field.IsStatic: true } or IPropertyReferenceOperation { Property.IsStatic: true } => true,
        IMemberReferenceOperation { Instance: IInstanceReferenceOperation { ReferenceKind: InstanceReferenceKind.ContainingTypeInstance } } => false,
        IFieldReferenceOperation { Instance.Type.IsReferenceType: true } or IPropertyReferenceOperation { Instance.Type.IsReferenceType: true } => true,
        _ => false,
    };

    // Whether somebody keeps the delegate beyond the statement: an event, a field, or a thread that nobody waits for.
    private static bool RunsLater(IAnonymousFunctionOperation function, out ISymbol? joined)
    {
        IOperation value = function;
        while (value.Parent is IDelegateCreationOperation or IConversionOperation)
        {
            value = value.Parent;
        }

        joined = value.Parent is IEventAssignmentOperation { Adds: true, EventReference: IEventReferenceOperation reference } ? reference.Event : null;
        return value.Parent switch
        {
            IEventAssignmentOperation => joined is not null,
            ISimpleAssignmentOperation { Target: IFieldReferenceOperation or IPropertyReferenceOperation } assignment => assignment.Value == value,
            IArgumentOperation { Parent: IInvocationOperation { Parent: IExpressionStatementOperation or ISimpleAssignmentOperation { Target: IDiscardOperation } } call } =>
                call.TargetMethod is { Name: "Run" or "QueueUserWorkItem" or "UnsafeQueueUserWorkItem" or "StartNew" or "ContinueWith", ContainingType.Name: "Task" or "TaskFactory" or "ThreadPool" },
            // Of a thread that nobody has a name for, nobody waits for its end.
            IArgumentOperation { Parent: IObjectCreationOperation { Type: { Name: "Thread" or "Timer", ContainingNamespace.Name: "Threading" } type } made } =>
                type.Name == "Timer" ? !IsDisposed(made) : made.Parent is IInvocationOperation { TargetMethod.Name: "Start" or "UnsafeStart" },
            _ => false,
        };
    }

    // In the method that made it: its end may be waited for. A `using` declaration ends it behind whatever the block deletes.
    private static bool IsDisposed(IOperation made)
    {
        IOperation root = made;
        ILocalSymbol? local = null;
        while (root.Parent is { } parent)
        {
            root = parent;
            if (root is IUsingOperation)
            {
                return true;
            }

            local ??= (root as IVariableDeclaratorOperation)?.Symbol;
        }

        return local is not null && root.Descendants().Any(part => part is IInvocationOperation { TargetMethod.Name: "Dispose" or "DisposeAsync", Instance: ILocalReferenceOperation reference }
            && SymbolEqualityComparer.Default.Equals(reference.Local, local));
    }

    private void Report(DiagnosticDescriptor rule, IOperation at, params object[] arguments) => context.ReportDiagnostic(Diagnostic.Create(rule, at.Syntax.GetLocation(), arguments));
}
