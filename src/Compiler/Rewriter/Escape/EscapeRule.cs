namespace Freehold.Rewriter.Escape;

/// <summary>The rules that make the analysis right. Tests switch one off at a time and see that it is missed; nothing else does.</summary>
public enum EscapeRule
{
    /// <summary>What is stored in a static field escapes.</summary>
    Statics,

    /// <summary>What is thrown escapes.</summary>
    Throws,

    /// <summary>What a call may return is the caller's.</summary>
    Returns,

    /// <summary>So is what hangs on what it returns.</summary>
    ReturnedContents,

    /// <summary>A call may store an argument below another one.</summary>
    StoresIntoArguments,

    /// <summary>What is given to code that is not known escapes.</summary>
    UnknownCode,

    /// <summary>Whoever calls a virtual method on an argument runs the code of its class.</summary>
    VirtualCalls,

    /// <summary>A new object in a structure that a call returns may lead to its arguments.</summary>
    NewInStructures,

    /// <summary>A part of an object may have a finalizer, which does something.</summary>
    PartsWithFinalizers,

    /// <summary>A delegate leads to its target.</summary>
    DelegateTargets,

    /// <summary>A finalizer uses an object when nobody else does.</summary>
    Finalizers,

    /// <summary>What hangs on an argument is given away by a call.</summary>
    ContentsEscape,

    /// <summary>A call may leave what others know below an argument.</summary>
    StoresOther,

    /// <summary>What a call returns may lead to what others know.</summary>
    FreshHoldsOther,

    /// <summary>What a call returns may be what others know.</summary>
    SharedResults,

    /// <summary>A text in a static field may be one that no deletion leaves.</summary>
    MarkedTexts,

    /// <summary>A call may store one thing that hangs on an argument in another one, or in something new.</summary>
    Relinks,

    /// <summary>Two things that hang on an argument may lead to one that a call made.</summary>
    FreshBelow,

    /// <summary>What a call returns leads to an argument by what it has inside.</summary>
    FreshParts,

    /// <summary>A result that others may know leads to an argument, too.</summary>
    OtherResults,

    /// <summary>An address may become a number.</summary>
    Numbers,

    /// <summary>What is stored below an object ends no earlier than it.</summary>
    Stores,

    /// <summary>A handler uses locals from before the exception.</summary>
    Handlers,

    /// <summary>What is on the stack is used.</summary>
    StackValues,

    /// <summary>An object may be used in the next turn of a loop.</summary>
    Loops,

    /// <summary>A call in tail position stays there.</summary>
    TailCalls,
}
