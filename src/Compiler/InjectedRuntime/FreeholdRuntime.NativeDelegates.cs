using System.Diagnostics;
using System.Reflection;
using System.Reflection.Runtime.MethodInfos;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using Internal.Runtime;

namespace System.Runtime;

/// <summary>The mark of delegates that may be native, and calls of them by reflection.</summary>
public static unsafe partial class FreeholdRuntime
{
    /// <summary>Marks a delegate: by any object that is the same each time and is neither an array of delegates nor an argument.</summary>
    public static void MarkNative(Delegate native) => native._helperObject = typeof(NativeFunctionPointerWrapper);

    /// <summary>Whether a delegate may be native. Throws as a call of the delegate would, if it is null or deleted.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    [StackTraceHidden]
    public static bool MayBeNative(Delegate called) => called._helperObject != null && MayBeNativeSlow(called._helperObject);

    /// <summary>A static function whose first argument is a type is taken for native, and pays for pins.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    internal static bool MayBeNativeSlow(object helper) => helper is Type || helper is Delegate.Wrapper[];

    /// <summary>
    /// What reflection made of a method and a first argument. A static function with its first argument has that in the field already. If calls of the delegate would not pin
    /// what the P/Invoke needs, it becomes one of the method that pins.
    /// </summary>
    internal static Delegate MarkReflected(Delegate made, RuntimeMethodInfo method, object target, bool isGeneric)
    {
        nint pinning = PinningAddress(method, isGeneric);
        if (pinning != 0)
        {
            made._extraFunctionPointerOrData = pinning;
            return made;
        }

        if (made._helperObject == null && ((method.Attributes & MethodAttributes.PinvokeImpl) != 0 || target is Delegate))
        {
            MarkNative(made);
        }

        return made;
    }

    /// <summary>What comparisons of delegates see. One of two delegates of a P/Invoke may have the mark: it depends on where they were made.</summary>
    internal static object WithoutMark(object helper) => helper == (object)typeof(NativeFunctionPointerWrapper) ? null : helper;

    /// <summary>How a call by reflection transforms its result, with a bit that says whether it is one of a P/Invoke.</summary>
    internal static DynamicInvokeInfo.Transform WithKind(DynamicInvokeInfo.Transform transform, MethodBase method) =>
        transform | (DynamicInvokeInfo.Transform)(method.Attributes & MethodAttributes.PinvokeImpl);

    /// <summary>A call by reflection, with pins if native code gets the arguments.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    [StackTraceHidden]
    internal static ref byte CallReflected(nint thunk, void* method, ref byte self, ref byte result, void* arguments, DynamicInvokeInfo info)
    {
        if (IsReflectedNative(info, ref self))
        {
            return ref CallReflectedNative(thunk, method, ref self, ref result, arguments, info, 0);
        }

        return ref RawCalliHelper.Call(thunk, method, ref self, ref result, arguments);
    }

    /// <summary>Whether a call by reflection is one of a P/Invoke or of a native delegate.</summary>
    internal static bool IsReflectedNative(DynamicInvokeInfo info, ref byte self)
    {
        if (((int)info._returnTransform & (int)MethodAttributes.PinvokeImpl) != 0)
        {
            return true;
        }

        if (Il.Number(ref self) == 0)
        {
            return false;
        }

        object target = Il.Reference(ref self);
        return target is NativeFunctionPointerWrapper || (target is Delegate called && MayBeNative(called));
    }

    /// <summary>
    /// A call by reflection with the argument of this index pinned, and those behind it. The arguments are refs: to an object reference, or to a value, which may be in a box.
    /// What the callee gets is current, as a pin has made it.
    /// </summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    [StackTraceHidden]
    internal static ref byte CallReflectedNative(nint thunk, void* method, ref byte self, ref byte result, void* arguments, DynamicInvokeInfo info, int index)
    {
        if (index >= info._argumentCount)
        {
            return ref RawCalliHelper.Call(thunk, method, ref self, ref result, arguments);
        }

        ByReference* argument = (ByReference*)arguments + index;
        ref byte value = ref argument->Value;
        fixed (byte* place = &value)
        {
            argument->Value = ref *place;
            const DynamicInvokeInfo.Transform Kind = DynamicInvokeInfo.Transform.ByRef | DynamicInvokeInfo.Transform.Reference;
            object target = (info._arguments[index].Transform & Kind) == DynamicInvokeInfo.Transform.Reference ? Il.Reference(ref *place) : null;
            if (target == null)
            {
                return ref CallReflectedNative(thunk, method, ref self, ref result, arguments, info, index + 1);
            }

            fixed (MethodTable** start = &Il.Layout(target).m_pEEType)
            {
                target = PinObject(target);
                TouchObject(target);
                Il.Object(ref *place) = target;
                return ref CallReflectedNative(thunk, method, ref self, ref result, arguments, info, index + 1);
            }
        }
    }
}
