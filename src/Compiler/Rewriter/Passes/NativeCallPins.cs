using System.Collections.Generic;
using System.Linq;
using Freehold.Rewriter.Analysis;
using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Rewriter.Passes;

/// <summary>
/// The compiler's own marshalling code pins arrays, strings and refs that a P/Invoke takes, where no pass sees it. So whoever calls one pins them around the call:
/// <list type="bullet">
/// <item>a call of a P/Invoke with such parameters, of this assembly or another, and an unmanaged <c>calli</c>: see <see cref="PinnedArguments"/>. The P/Invoke itself stays
/// as it is, for reflection and for stack traces;</item>
/// <item>the same of an UnsafeAccessor that names a P/Invoke;</item>
/// <item>a P/Invoke that implements a static method of an interface: a method that pins takes its place in the interface, as the caller cannot know what it calls;</item>
/// <item>a delegate made of such a P/Invoke is marked as native, and whoever calls it pins (<see cref="NativeDelegatePins"/>). If its type is none that those calls look
/// at, and for function pointers, the address is that of a method that pins;</item>
/// <item>reflection finds that method by an attribute of the P/Invoke: see <see cref="PinningAttribute"/>.</item>
/// </list>
/// Calls by <c>MethodInfo.Invoke</c>: <see cref="ReflectedCallPins"/>. TouchBeforePin, which comes later, completes the pins. Source-generated P/Invokes (LibraryImport) pin in C#
/// and have no such parameters left.
/// </summary>
public sealed class NativeCallPins : IRewritePass
{
    private const MethodCallingConvention Unmanaged = (MethodCallingConvention)9;

    /// <inheritdoc/>
    public string Name => nameof(NativeCallPins);

    /// <inheritdoc/>
    public int Version => 6;

    /// <inheritdoc/>
    public bool AppliesTo(AssemblyRole role) => true;

    /// <summary>Whether the pass may change the method.</summary>
    public static bool Concerns(MethodDefinition method, AssemblyRole role) => IsImplementation(method) || (method.IsPInvokeImpl && MayTakeAddresses(method))
        || (method.HasBody && method.Body.Instructions.Any(instruction => IsNativeCall(instruction) || MayNameNativeMethod(instruction, role)));

    /// <inheritdoc/>
    public bool Run(AssemblyUnderRewrite assembly, PassStatistics statistics)
    {
        Callees callees = new();
        bool changed = assembly.Role == AssemblyRole.CoreLib;
        if (changed)
        {
            PinningAttribute.Inject(assembly);
        }

        foreach (MethodDefinition method in assembly.MethodsWithBody.ToArray())
        {
            Instruction[] sites = [.. method.Body.Instructions.Where(instruction => IsNativeCall(instruction) || (MayNameNativeMethod(instruction, assembly.Role) && callees.PinsOf(instruction) is not null))];
            if (sites.Length > 0)
            {
                Rewrite(assembly, method, sites, callees);
                sites.ToList().ForEach(_ => statistics.Rewrite(method.FullName));
                changed = true;
            }
        }

        foreach (MethodDefinition native in assembly.Module.GetTypes().SelectMany(type => type.Methods).Where(method => method.IsPInvokeImpl && MayTakeAddresses(method)).ToArray())
        {
            bool[] pinned = PinsOf(native);
            if (pinned.Contains(true))
            {
                if (IsImplementation(native))
                {
                    Implement(assembly, native, pinned);
                }

                PinningAttribute.Add(assembly, native, callees.PinningMethod(native, () => Around(assembly, native, pinned)), DelegatesPin(native, pinned));
                statistics.Rewrite(native.FullName);
                changed = true;
            }
        }

        return changed;
    }

    private static MethodDefinition Around(AssemblyUnderRewrite assembly, MethodReference called, bool[] pinned) => PinnedArguments.AddMethod(
        assembly, called.Name, called.ReturnType, [.. called.Parameters.Select(parameter => (parameter.ParameterType, pinned[parameter.Index]))], Emit.Call(called));

    // Of a text, the delegate's type says whether it is copied; classes with a layout are copied always.
    private static bool DelegatesPin(MethodDefinition native, bool[] pinned) =>
        native.Parameters.All(parameter => !pinned[parameter.Index] || PinnedArguments.WithoutModifiers(parameter.ParameterType) is ArrayType or ByReferenceType);

    // In the same type: the implementation of an interface's method must be.
    private static void Implement(AssemblyUnderRewrite assembly, MethodDefinition native, bool[] pinned)
    {
        (TypeReference, bool)[] arguments = [.. native.Parameters.Select(parameter => (parameter.ParameterType, pinned[parameter.Index]))];
        MethodDefinition method = PinnedArguments.AddMethod(assembly, native.Name, native.ReturnType, arguments, Emit.Call(native), native.DeclaringType);
        foreach (MethodReference implemented in native.Overrides)
        {
            method.Overrides.Add(implemented);
        }

        native.Overrides.Clear();
    }

    private static void Rewrite(AssemblyUnderRewrite assembly, MethodDefinition method, Instruction[] sites, Callees callees)
    {
        MethodBody body = method.Body;
        bool apart = PinnedArguments.HasTailCalls(method);
        PinnedArguments.Locals locals = new(body);
        body.BeginEdit();
        foreach (Instruction site in sites)
        {
            if (site.OpCode.Code == Code.Calli)
            {
                CallSite signature = (CallSite)site.Operand;
                (TypeReference, bool)[] arguments = [.. signature.Parameters.Select(parameter => (parameter.ParameterType, NeedsPin(parameter.ParameterType))), (assembly.Module.TypeSystem.IntPtr, false)];
                // Signatures have the numbers of generic parameters, which mean nothing in another method.
                bool inGeneric = method.HasGenericParameters || method.DeclaringType.HasGenericParameters;
                Pin(site, Instruction.Create(OpCodes.Calli, signature), arguments, apart && !inGeneric ? method.Name : null, signature.ReturnType);
                continue;
            }

            MethodReference called = (MethodReference)site.Operand;
            bool[] pinned = callees.PinsOf(site)!;
            if (site.OpCode.Code == Code.Call)
            {
                Pin(site, Emit.Call(called), Arguments(), apart ? called.Name : null, called.ReturnType);
            }
            else if (NativeDelegatePins.PinsAllOf(site.Next, pinned))
            {
                body.InsertAfter(site.Next, Emit.Again(), Emit.Call(NativeDelegateMark.Set(assembly)));
            }
            else
            {
                site.Operand = callees.PinningMethod(called, () => Around(assembly, called, pinned));
            }

            (TypeReference, bool)[] Arguments() => [.. called.Parameters.Select(parameter => (parameter.ParameterType, pinned[parameter.Index]))];
        }

        body.EndEdit();

        void Pin(Instruction site, Instruction call, IReadOnlyList<(TypeReference, bool)> arguments, string? methodApart, TypeReference returns) =>
            body.Replace(site, methodApart is null
                ? PinnedArguments.Around(locals, arguments, call)
                : [Emit.Call(PinnedArguments.AddMethod(assembly, methodApart, returns, arguments, call))]);
    }

    private static bool IsNativeCall(Instruction instruction) =>
        instruction.OpCode == OpCodes.Calli
        && instruction.Operand is CallSite { CallingConvention: MethodCallingConvention.C or MethodCallingConvention.StdCall or MethodCallingConvention.ThisCall or MethodCallingConvention.FastCall or Unmanaged } site
        && site.Parameters.Any(parameter => NeedsPin(parameter.ParameterType));

    // By the signature alone, without looking at the method. No assembly of the framework calls a P/Invoke of another: a test says so.
    private static bool MayNameNativeMethod(Instruction instruction, AssemblyRole role) =>
        instruction.OpCode.Code is Code.Call or Code.Ldftn
        && instruction.Operand is MethodReference { HasThis: false, CallingConvention: MethodCallingConvention.Default, DeclaringType: not GenericInstanceType } called and not GenericInstanceMethod
        && (called is MethodDefinition definition ? definition.IsPInvokeImpl || Accessor(definition) is not null : role == AssemblyRole.Application)
        && MayTakeAddresses(called);

    private static bool MayTakeAddresses(MethodReference called) =>
        called.Parameters.Any(parameter => PinnedArguments.WithoutModifiers(parameter.ParameterType) is { MetadataType: MetadataType.ByReference or MetadataType.Array or MetadataType.String or MetadataType.Class });

    // Compilers name what a static method implements; by its name alone it implements nothing.
    private static bool IsImplementation(MethodDefinition method) => method.IsPInvokeImpl && method.HasOverrides;

    // Such a method may have a body, by its flags, but has none.
    private static CustomAttribute? Accessor(MethodDefinition method) => method.RVA != 0 || !method.IsStatic || !method.HasCustomAttributes
        ? null
        : method.CustomAttributes.FirstOrDefault(attribute => attribute.AttributeType.FullName == "System.Runtime.CompilerServices.UnsafeAccessorAttribute");

    /// <summary>The P/Invoke that an UnsafeAccessor leads to: it has the same parameters, but for the first, whose type declares it.</summary>
    private static MethodDefinition? Accessed(MethodDefinition accessor)
    {
        const int StaticMethod = 2;
        if (Accessor(accessor) is not { ConstructorArguments: [{ Value: StaticMethod }] } attribute || accessor.Parameters.Count == 0)
        {
            return null;
        }

        TypeReference owner = PinnedArguments.WithoutModifiers(accessor.Parameters[0].ParameterType);
        owner = owner is ByReferenceType reference ? reference.ElementType : owner;
        string name = attribute.Properties.FirstOrDefault(property => property.Name == "Name").Argument.Value as string ?? accessor.Name;
        string[] parameters = [.. accessor.Parameters.Skip(1).Select(parameter => parameter.ParameterType.FullName)];
        return ValueKinds.Resolve(owner)?.Methods.FirstOrDefault(method =>
            method.IsPInvokeImpl && method.Name == name && method.Parameters.Select(parameter => parameter.ParameterType.FullName).SequenceEqual(parameters));
    }

    /// <summary>For each parameter of a P/Invoke: would native code get the address of managed memory?</summary>
    private static bool[] PinsOf(MethodDefinition native) => [.. native.Parameters.Select(parameter =>
        PinnedArguments.WithoutModifiers(parameter.ParameterType) is { MetadataType: MetadataType.String }
            ? PinnedArguments.IsWide(parameter, native.PInvokeInfo is { IsCharSetUnicode: true } or { IsCharSetAuto: true })
            : NeedsPin(parameter.ParameterType))];

    /// <summary>Whether native code gets the address of managed memory. StringBuilders are copied, delegates and safe handles are not addresses of theirs.</summary>
    private static bool NeedsPin(TypeReference type)
    {
        type = PinnedArguments.WithoutModifiers(type);
        if (type.IsByReference || type.IsArray || type.FullName == "System.String")
        {
            return true;
        }

        // A class with a layout is passed by its address when its fields need no conversion.
        return !type.IsValueType && !type.IsPointer && !type.IsFunctionPointer && !type.IsGenericParameter && !type.IsPrimitive
            && ValueKinds.Resolve(type) is { IsClass: true, IsValueType: false } definition && (definition.IsSequentialLayout || definition.IsExplicitLayout);
    }

    /// <summary>What the calls of an assembly lead to.</summary>
    private sealed class Callees
    {
        private readonly Dictionary<MethodReference, bool[]?> _pins = [];
        private readonly Dictionary<MethodReference, MethodDefinition> _pinning = [];

        /// <summary>Which arguments of what the instruction names must be pinned; null when none, as of all that is no P/Invoke nor leads to one.</summary>
        public bool[]? PinsOf(Instruction instruction)
        {
            MethodReference called = (MethodReference)instruction.Operand;
            if (!_pins.TryGetValue(called, out bool[]? pinned))
            {
                pinned = Find(called) switch
                {
                    { IsPInvokeImpl: true, IsStatic: true } native => NativeCallPins.PinsOf(native),
                    { } other when Accessed(other) is { } native => [false, .. NativeCallPins.PinsOf(native)],
                    _ => null,
                };
                _pins[called] = pinned = pinned?.Contains(true) == true ? pinned : null;
            }

            return pinned;
        }

        /// <summary>The method that pins around this one, made once.</summary>
        public MethodDefinition PinningMethod(MethodReference called, System.Func<MethodDefinition> make)
        {
            if (!_pinning.TryGetValue(called, out MethodDefinition? method))
            {
                _pinning[called] = method = make();
            }

            return method;
        }

        private MethodDefinition? Find(MethodReference called) =>
            called as MethodDefinition ?? (ValueKinds.Resolve(called.DeclaringType) is { } type ? MetadataResolver.GetMethod(type.Methods, called) : null);
    }
}
