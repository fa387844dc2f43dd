using System.Linq;
using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Rewriter.Passes;

/// <summary>
/// Leads reflection from a P/Invoke to the method that pins around it. Whoever calls a function pointer does not know that it is a P/Invoke's, and pins nothing. So
/// each P/Invoke with arguments to pin has an attribute of a type of its own, derived from <c>System.Runtime.FreeholdPins</c>, whose method gives the address of the
/// pinning method. The compiler keeps the attribute, and with it that method, where it keeps the P/Invoke for reflection, and nowhere else.
/// <para>
/// <c>RuntimeMethodHandle.GetFunctionPointer</c> gives that address, and delegates that reflection makes call it where their own calls would not pin. No list of a method's
/// attributes has this one, and no list of types the hidden class.
/// </para>
/// </summary>
internal static class PinningAttribute
{
    private const string ClassName = "FreeholdPins";
    private const string AddressName = "Address";
    private const string Info = "System.Reflection.Runtime.MethodInfos.RuntimeMethodInfo";
    private const string NamedInfo = "System.Reflection.Runtime.MethodInfos.RuntimeNamedMethodInfo`1";

    /// <summary>Puts the attribute on a P/Invoke.</summary>
    /// <param name="assembly">Its assembly.</param>
    /// <param name="native">The P/Invoke.</param>
    /// <param name="pinning">The method that pins, in the hidden class.</param>
    /// <param name="delegatesPin">Whether calls of a delegate pin all that this P/Invoke needs, if its type is not generic.</param>
    public static void Add(AssemblyUnderRewrite assembly, MethodDefinition native, MethodDefinition pinning, bool delegatesPin)
    {
        ModuleDefinition module = assembly.Module;
        TypeReference parent = InjectedRuntime.Reference(module, InjectedRuntime.Namespace, ClassName);
        TypeDefinition owner = pinning.DeclaringType;
        TypeDefinition type = new(
            "", $"Pins.{owner.NestedTypes.Count}", TypeAttributes.NestedAssembly | TypeAttributes.Sealed | TypeAttributes.BeforeFieldInit, parent);
        owner.NestedTypes.Add(type);

        MethodDefinition constructor = Constructor(type, module, new MethodReference(".ctor", module.TypeSystem.Void, parent) { HasThis = true });
        MethodDefinition address = new(
            AddressName, MethodAttributes.Public | MethodAttributes.Virtual | MethodAttributes.HideBySig | MethodAttributes.ReuseSlot, module.TypeSystem.IntPtr);
        address.Parameters.Add(new ParameterDefinition("pinsNothing", ParameterAttributes.None, module.TypeSystem.Boolean));
        Instruction give = Instruction.Create(OpCodes.Ldftn, pinning);
        if (delegatesPin)
        {
            address.Body.Append(Instruction.Create(OpCodes.Ldarg_1), Instruction.Create(OpCodes.Brtrue_S, give), Instruction.Create(OpCodes.Ldc_I4_0), Instruction.Create(OpCodes.Conv_I), Emit.Return());
        }

        address.Body.Append(give, Emit.Return());
        type.Methods.Add(address);
        native.CustomAttributes.Add(new CustomAttribute(constructor));
    }

    /// <summary>Adds to CoreLib the class that the attributes derive from, and what looks for them.</summary>
    public static void Inject(AssemblyUnderRewrite coreLib)
    {
        // What the getter of the attributes gave becomes FreeholdAllCustomAttributes; the getter leaves out those that pin.
        ReplaceGetter(coreLib, coreLib.Method(NamedInfo, "get_CustomAttributes"), "FreeholdAllCustomAttributes");
        GiveAddress(coreLib);
        HideClass(coreLib);
    }

    private static MethodDefinition Constructor(TypeDefinition type, ModuleDefinition module, MethodReference parent)
    {
        MethodDefinition constructor = new(
            ".ctor", MethodAttributes.Public | MethodAttributes.HideBySig | MethodAttributes.SpecialName | MethodAttributes.RTSpecialName, module.TypeSystem.Void);
        constructor.Body.Append(Emit.This(), Emit.Call(parent), Emit.Return());
        type.Methods.Add(constructor);
        return constructor;
    }

    // What a getter did becomes another method, which its replacement calls.
    private static void ReplaceGetter(AssemblyUnderRewrite coreLib, MethodDefinition getter, string moved)
    {
        if (getter.Body.Variables.Count > 0 || getter.Body.HasExceptionHandlers || getter.Body.Instructions.Any(instruction => instruction.Operand is Instruction))
        {
            throw coreLib.Unexpected(getter, "a getter of one expression");
        }

        string type = getter.DeclaringType.FullName;
        coreLib.Injected.Method(type, moved).Body.Append([.. getter.Body.Instructions]);
        coreLib.Injected.Replace(type, getter.Name);
    }

    // RuntimeMethodInfo.LdFtnResult, which RuntimeMethodHandle.GetFunctionPointer returns: the pinning method's, if there is one.
    private static void GiveAddress(AssemblyUnderRewrite coreLib)
    {
        MethodDefinition get = coreLib.Method(Info, "get_LdFtnResult");
        (MethodDefinition Caller, Instruction)[] callers = [.. coreLib.CallsOf(get)];
        if (callers.Length != 1 || callers[0].Caller.Name != "GetFunctionPointer")
        {
            throw coreLib.Unexpected(get, "one caller, which gives out function pointers");
        }

        ReplaceGetter(coreLib, get, "FreeholdLdFtnResult");
    }

    // Assembly.DefinedTypes, where Assembly.GetTypes ends: of the types at the top, those that have another name.
    private static void HideClass(AssemblyUnderRewrite coreLib)
    {
        MethodDefinition top = coreLib.Type("System.Reflection.Runtime.General.NativeFormatMetadataReaderExtensions").Methods.Single(method => method.Name == "GetTopLevelTypes");
        Instruction[] calls = [.. coreLib.CallsOf(top).Where(call => call.Caller.DeclaringType.Name.Contains("get_DefinedTypes", System.StringComparison.Ordinal)).Select(call => call.Call)];
        if (calls.Length != 1)
        {
            throw coreLib.Unexpected(top, "one call for the types of an assembly");
        }

        calls[0].Operand = coreLib.Injected.Method(InjectedRuntime.FullName, "VisibleTypes");
    }
}
