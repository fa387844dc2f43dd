using System.Collections.Generic;
using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace System;

/// <summary>Stacks that the heap has remembered (heap/stack_store.h), as text.</summary>
internal static class AllocationStack
{
    /// <summary>The number of no stack.</summary>
    internal const uint None = 0;

    // As in heap/stack_store.h.
    private const int Depth = 32;

    /// <summary>A line for each frame, "   at Namespace.Type.Method()", the innermost first; empty when there was no room for the stack.</summary>
    internal static unsafe string Read(uint stack)
    {
        nint* addresses = stackalloc nint[Depth];
        int count = NativeHeap.ReadStack(stack, addresses, Depth);
        if (count == 0)
        {
            return "";
        }

        var frames = new List<StackFrame>(count);
        foreach (nint address in new ReadOnlySpan<nint>(addresses, count))
        {
            frames.Add(FrameAt(address, needFileInfo: true));
        }

        return new StackTrace(frames).ToString().TrimEnd();
    }

    /// <summary>The same, or why there is nothing.</summary>
    internal static string Describe(uint stack) => Read(stack) is { Length: > 0 } text ? text : "   at a place that was not recorded, the memory for stack traces is full";

    /// <summary>The place without the words around: "Namespace.Type.Method() in file:line 3", or with an offset where there is no line.</summary>
    internal static string DescribePlace(nint address)
    {
        string text = new StackTrace([FrameAt(address, needFileInfo: true)]).ToString().Trim();
        return text.StartsWith("at ", StringComparison.Ordinal) ? text[3..] : text.Length == 0 ? "(a method without a name)" : text;
    }

    /// <summary>The place as a stack trace names it: "   at Namespace.Type.Method()".</summary>
    internal static string DescribeFrame(nint address) => new StackTrace([FrameAt(address, needFileInfo: false)]).ToString().TrimEnd();

    // What the framework makes the stack trace of an exception of. Its public constructors know only the frames of the current thread.
    [UnsafeAccessor(UnsafeAccessorKind.Constructor)]
    private static extern StackFrame FrameAt(nint address, bool needFileInfo);
}
