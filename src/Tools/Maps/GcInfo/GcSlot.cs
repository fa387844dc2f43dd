namespace Freehold.Maps.GcInfo;

public enum SlotBase
{
    CallerSp = 0,
    Sp = 1,
    Frame = 2,
    Register = 3,
}

/// <summary>A place that may hold a reference: a register (number in x86 encoding) or a stack slot (offset in bytes).</summary>
public readonly record struct GcSlot(SlotBase Base, int Value, bool Interior, bool Pinned, bool Untracked)
{
    private static readonly string[] s_registers =
        ["rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"];

    public override string ToString()
    {
        string place = Base switch
        {
            SlotBase.Register => s_registers[Value],
            SlotBase.CallerSp => $"[caller.sp{Value:+0;-0;+0}]",
            SlotBase.Sp => $"[sp{Value:+0;-0;+0}]",
            _ => $"[frame{Value:+0;-0;+0}]",
        };
        return place + (Interior ? "&" : "") + (Pinned ? "!" : "");
    }

    internal static bool IsRegister(uint number) => number < (uint)s_registers.Length;
}
