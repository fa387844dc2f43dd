using Freehold.Maps.Analysis;
using Freehold.Maps.Elf;
using Freehold.Maps.GcInfo;
using Iced.Intel;

namespace Freehold.Maps.Reports;

/// <summary>One method, instruction by instruction, with the slots that hold references before each.</summary>
public static class MethodDump
{
    private const int MaxCandidates = 20;

    /// <summary>Exact name first; else the only method whose name contains <paramref name="name"/>.</summary>
    public static ManagedMethod Find(NativeAotProgram program, string name)
    {
        List<ManagedMethod> found = [.. program.Methods.Where(m => m.Name == name)];
        if (found.Count == 0)
        {
            found = [.. program.Methods.Where(m => m.Name.Contains(name, StringComparison.Ordinal))];
        }

        if (found.Count == 1)
        {
            return found[0];
        }

        string hint = program.Symbols.Count == 0 ? " The program has no symbols: name an address (0x...), or the .dbg file with --symbols." : "";
        throw new InputException(found.Count == 0
            ? $"No method is called '{name}'.{hint}"
            : $"'{name}' fits {found.Count} methods: " + string.Join(", ", found.Take(MaxCandidates).Select(m => m.Name)) + (found.Count > MaxCandidates ? ", ..." : ""));
    }

    public static void Write(NativeAotProgram program, ManagedMethod method, TextWriter output)
    {
        MethodGcInfo info = method.GcInfo;
        InstructionScanner scanner = new(program.File);
        MethodReport report = scanner.Scan(method);
        output.WriteLine($"{method.Name}: {info.CodeLength} bytes at 0x{method.Start:x}, {method.Frames.Count} frames, {report.Reason}");
        output.WriteLine("ranges: " + (info.Ranges.Count == 0 ? "none" : string.Join(" ", info.Ranges.Select(r => $"[{r.Start:x},{r.End:x})"))));
        if (info.SafePoints.Count > 0)
        {
            output.WriteLine("safe points: " + string.Join(" ", info.SafePoints.Select(p => $"{p:x}")));
        }

        output.WriteLine("slots: " + (info.Slots.Count == 0 ? "none" : string.Join(" ", info.Slots.Select(s => s.Untracked ? $"{s} (untracked)" : $"{s}"))));
        output.WriteLine("(& interior, ! pinned, ~~ no map, * may touch the heap)");
        NasmFormatter formatter = new();
        formatter.Options.FirstOperandCharIndex = 8;
        formatter.Options.RipRelativeAddresses = false;
        StringOutput text = new();
        foreach (FrameEntry frame in method.Frames)
        {
            bool framePointer = info.StackBaseRegister == 5 || frame.Start != method.Start;
            foreach (Instruction instruction in scanner.Decode(frame.Start, frame.End))
            {
                int offset = (int)(instruction.IP - method.Start);
                formatter.Format(instruction, text);
                IReadOnlyList<GcSlot>? live = info.LiveSlots(offset);
                string mark = scanner.TouchesHeap(instruction, framePointer) ? "*" : " ";
                output.WriteLine($"{offset,6:x} {mark} {text.ToStringAndReset(),-56} {(live is null ? "~~" : string.Join(" ", live))}".TrimEnd());
            }
        }
    }
}
