using Freehold.Maps.Elf;
using Iced.Intel;

namespace Freehold.Maps.Analysis;

/// <summary>
/// Decodes the instructions of methods and decides, for each outside the interruptible ranges, why it is there and whether it
/// may touch the heap. An instruction may touch the heap when it reads or writes memory through anything but the stack pointer,
/// the frame pointer of a method that has one, the instruction pointer (static data) or a thread segment. This errs on the
/// safe side: pointers into the stack or to static data that sit in other registers count as heap.
/// </summary>
public sealed class InstructionScanner(ElfFile file)
{
    private const int RegisterRbp = 5;
    private readonly InstructionInfoFactory _infoFactory = new();

    public MethodReport Scan(ManagedMethod method)
    {
        List<UnmappedRun> runs = [];
        int accesses = 0;
        foreach (FrameEntry frame in method.Frames)
        {
            List<Instruction> run = [];
            foreach (Instruction instruction in Decode(frame.Start, frame.End))
            {
                accesses += TouchesHeap(instruction, UsesFramePointer(method, frame)) ? 1 : 0;
                if (!method.GcInfo.IsInterruptible((int)(instruction.IP - method.Start)))
                {
                    run.Add(instruction);
                    continue;
                }

                AddRuns(method, frame, run, runs);
                run.Clear();
            }

            AddRuns(method, frame, run, runs);
        }

        return new MethodReport(method, runs, accesses);
    }

    /// <summary>The stub code in a stretch between methods: bytes without padding, and whether it may touch the heap.</summary>
    public (int Bytes, bool TouchesHeap) ScanStub(ulong start, ulong end)
    {
        int bytes = 0;
        bool touches = false;
        foreach (Instruction instruction in Decode(start, end))
        {
            if (instruction.Mnemonic is not (Mnemonic.Nop or Mnemonic.Int3 or Mnemonic.INVALID))
            {
                bytes += instruction.Length;
                touches |= TouchesHeap(instruction, framePointer: false);
            }
        }

        return (bytes, touches);
    }

    public IEnumerable<Instruction> Decode(ulong start, ulong end)
    {
        Decoder decoder = Decoder.Create(64, new ByteArrayCodeReader(file.From(start, (int)(end - start)).ToArray()));
        decoder.IP = start;
        while (decoder.IP < end)
        {
            yield return decoder.Decode();
        }
    }

    public bool TouchesHeap(in Instruction instruction, bool framePointer)
    {
        foreach (UsedMemory memory in _infoFactory.GetInfo(instruction).GetUsedMemory())
        {
            if (memory.Access is OpAccess.None or OpAccess.NoMemAccess ||
                memory.Segment is Register.FS or Register.GS ||
                memory.Base is Register.RSP or Register.RIP ||
                (memory.Base is Register.RBP && framePointer) ||
                (memory.Base is Register.None && memory.Index is Register.None))
            {
                continue;
            }

            return true;
        }

        return false;
    }

    private static bool UsesFramePointer(ManagedMethod method, FrameEntry frame) =>
        method.GcInfo.StackBaseRegister == RegisterRbp || frame.Start != method.Start;

    private static bool IsEpilogPart(in Instruction instruction) => instruction.Mnemonic switch
    {
        Mnemonic.Ret or Mnemonic.Pop or Mnemonic.Leave or Mnemonic.Vzeroupper => true,
        Mnemonic.Add or Mnemonic.Lea or Mnemonic.Mov => instruction.Op0Register == Register.RSP,
        _ => false,
    };

    private void AddRuns(ManagedMethod method, FrameEntry frame, List<Instruction> run, List<UnmappedRun> runs)
    {
        if (run.Count == 0)
        {
            return;
        }

        bool framePointer = UsesFramePointer(method, frame);
        if (method.GcInfo.Ranges.Count == 0)
        {
            runs.Add(MakeRun(run, 0, run.Count, UnmappedKind.NoRange, framePointer));
            return;
        }

        // Everything from the entry of a frame to its first range is set-up, even when an epilog follows at once.
        int epilog = run[0].IP == frame.Start ? 0 : StartOfEpilog(run, method);
        if (epilog > 0)
        {
            runs.Add(MakeRun(run, 0, epilog, UnmappedKind.Hole, framePointer));
        }

        if (epilog < run.Count)
        {
            runs.Add(MakeRun(run, epilog, run.Count, UnmappedKind.PrologOrEpilog, framePointer));
        }
    }

    private static int StartOfEpilog(List<Instruction> run, ManagedMethod method)
    {
        Instruction last = run[^1];
        bool leaves = last.FlowControl == FlowControl.Return ||
            last.FlowControl == FlowControl.IndirectBranch ||
            (last.FlowControl == FlowControl.UnconditionalBranch &&
                (last.NearBranchTarget < method.Start || last.NearBranchTarget >= method.Start + (ulong)method.GcInfo.CodeLength));
        if (!leaves)
        {
            return run.Count;
        }

        int start = run.Count - 1;
        while (start > 0 && IsEpilogPart(run[start - 1]))
        {
            start--;
        }

        return start;
    }

    private UnmappedRun MakeRun(List<Instruction> run, int from, int to, UnmappedKind kind, bool framePointer)
    {
        List<ulong> accesses = [];
        for (int i = from; i < to; i++)
        {
            if (TouchesHeap(run[i], framePointer))
            {
                accesses.Add(run[i].IP);
            }
        }

        return new UnmappedRun(run[from].IP, run[to - 1].NextIP, kind, accesses);
    }
}
