using System.Runtime.InteropServices;
using System.Text;

namespace System;

/// <summary>What debug mode remembers of a deleted object (<c>FREEHOLD_DEBUG</c>): the layout of <c>History</c> in heap/history.h. Nothing without debug mode, but of objects that <c>FREEHOLD_SAMPLE</c> has chosen.</summary>
[StructLayout(LayoutKind.Sequential)]
internal readonly struct ObjectHistory
{
    private readonly nint _type;
    private readonly uint _allocated;
    private readonly uint _deleted;

    internal bool IsKnown => _type != 0;

    /// <summary>A sentence about the object, and where it was allocated and deleted, if the heap remembers that.</summary>
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

    private static void AppendStack(StringBuilder text, string what, uint stack)
    {
        if (stack == AllocationStack.None)
        {
            return;
        }

        text.AppendLine().Append(what);
        string frames = AllocationStack.Read(stack);
        if (frames.Length == 0)
        {
            text.Append(" not recorded, the memory for stack traces is full.");
            return;
        }

        // Indented once more than the exception's own frames, which follow when it is printed.
        foreach (ReadOnlySpan<char> line in frames.AsSpan().EnumerateLines())
        {
            text.AppendLine().Append("   ").Append(line);
        }
    }
}
