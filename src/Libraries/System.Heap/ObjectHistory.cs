using System.Collections.Generic;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text;

namespace System;

/// <summary>What debug mode remembers of a deleted object (<c>FREEHOLD_DEBUG</c>): the layout of <c>History</c> in heap/history.h. Nothing without debug mode.</summary>
[StructLayout(LayoutKind.Sequential)]
internal readonly struct ObjectHistory
{
    // As in heap/stack_store.h.
    private const int StackDepth = 32;
    private const uint NoStack = 0;

    private readonly nint _type;
    private readonly uint _allocated;
    private readonly uint _deleted;

    internal bool IsKnown => _type != 0;

    /// <summary>A sentence about the object, and where it was allocated and deleted, if <c>FREEHOLD_DEBUG=stacks</c> says to remember that.</summary>
    internal string Describe(string before, string after)
    {
        Type? type = Type.GetTypeFromHandle(RuntimeTypeHandle.FromIntPtr(_type));
        var text = new StringBuilder($"{before}{type}{after}");
        // Without our heap there is no history, and nothing to link the reader of stacks with.
        if (Heap.IsManual)
        {
            AppendStack(text, "Allocated:", _allocated);
            AppendStack(text, "Deleted:", _deleted);
        }

        return text.ToString();
    }

    private static unsafe void AppendStack(StringBuilder text, string what, uint stack)
    {
        if (stack == NoStack)
        {
            return;
        }

        nint* addresses = stackalloc nint[StackDepth];
        int count = NativeHeap.ReadStack(stack, addresses, StackDepth);
        text.AppendLine().Append(what);
        if (count == 0)
        {
            text.Append(" not recorded, the memory for stack traces is full.");
            return;
        }

        var frames = new List<StackFrame>(count);
        foreach (nint address in new ReadOnlySpan<nint>(addresses, count))
        {
            frames.Add(FrameAt(address, needFileInfo: true));
        }

        // Indented once more than the exception's own frames, which follow when it is printed.
        foreach (ReadOnlySpan<char> line in new StackTrace(frames).ToString().AsSpan().TrimEnd().EnumerateLines())
        {
            text.AppendLine().Append("   ").Append(line);
        }
    }

    /// <summary>The place as a stack trace names it: "   at Namespace.Type.Method()".</summary>
    internal static string DescribeFrame(nint address) => new StackTrace([FrameAt(address, needFileInfo: false)]).ToString().TrimEnd();

    // What the framework makes the stack trace of an exception of. Its public constructors know only the frames of the current thread.
    [UnsafeAccessor(UnsafeAccessorKind.Constructor)]
    private static extern StackFrame FrameAt(nint address, bool needFileInfo);
}
