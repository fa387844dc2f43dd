using System.Runtime.InteropServices;

namespace Freehold.Contract;

/// <summary>What only native code can do: <c>vfork</c>, whose child borrows the memory of this process, and a thread that sets its alternate stack before the runtime knows it.</summary>
internal static unsafe partial class Outside
{
    public static IEnumerable<Case> InNativeCode() =>
    [
        new("outside-vfork", _ => WhileStopping(Vforks)),
        new("outside-late-small-alternate-stack", _ => WhileMoving(() => LateThreads(size: 12 << 10, disabled: false))),
        new("outside-late-smallest-alternate-stack", _ => WhileMoving(() => LateThreads(size: SmallestStack, disabled: false))),
        new("outside-late-no-alternate-stack", _ => WhileMoving(() => LateThreads(size: SmallestStack, disabled: true))),
    ];

    private const int SmallestStack = 4096;

    [StructLayout(LayoutKind.Sequential)]
    private struct Time
    {
        public long Seconds, Nanoseconds;
    }

    private static void* Code(ReadOnlySpan<byte> code)
    {
        const int ReadWriteExecute = 7, PrivateAnonymous = 0x22;
        byte* page = MapCode(null, 4096, ReadWriteExecute, PrivateAnonymous, -1, 0);
        Expect.True(page != (byte*)-1);
        code.CopyTo(new Span<byte>(page, 4096));
        return page;
    }

    // int start(path, arguments, environment, time): the child waits and becomes another program, or ends with 127. It uses no stack, which is the parent's.
    private static readonly delegate* unmanaged<byte*, byte**, byte**, Time*, int> s_vfork = (delegate* unmanaged<byte*, byte**, byte**, Time*, int>)Code(
    [
        0x49, 0x89, 0xC9,              // mov r9, rcx
        0xB8, 0x3A, 0x00, 0x00, 0x00,  // mov eax, vfork
        0x0F, 0x05,                    // syscall
        0x85, 0xC0,                    // test eax, eax
        0x75, 0x2B,                    // jnz to the return
        0x49, 0x89, 0xF8,              // mov r8, rdi
        0x49, 0x89, 0xF2,              // mov r10, rsi
        0x4C, 0x89, 0xCF,              // mov rdi, r9
        0x31, 0xF6,                    // xor esi, esi
        0xB8, 0x23, 0x00, 0x00, 0x00,  // mov eax, nanosleep
        0x0F, 0x05,                    // syscall
        0x4C, 0x89, 0xC7,              // mov rdi, r8
        0x4C, 0x89, 0xD6,              // mov rsi, r10
        0xB8, 0x3B, 0x00, 0x00, 0x00,  // mov eax, execve
        0x0F, 0x05,                    // syscall
        0xBF, 0x7F, 0x00, 0x00, 0x00,  // mov edi, 127
        0xB8, 0x3C, 0x00, 0x00, 0x00,  // mov eax, exit
        0x0F, 0x05,                    // syscall
        0xC3,                          // ret
    ]);

    // Its thread waits in the kernel until the child is another program; the others are stopped and everything moves meanwhile.
    private static void Vforks()
    {
        const int Missing = 127;
        byte** arguments = (byte**)NativeMemory.AllocZeroed(2, (nuint)sizeof(byte*));
        byte** none = (byte**)NativeMemory.AllocZeroed(1, (nuint)sizeof(byte*));
        foreach ((string path, int code) in new[] { ("/bin/true", 0), ("/bin/false", 1), ("/does/not/exist", Missing) })
        {
            byte* name = (byte*)Marshal.StringToCoTaskMemUTF8(path);
            arguments[0] = name;
            for (int i = 0; i < 8; i++)
            {
                var kept = new Subject(i);
                var time = new Time { Nanoseconds = i * 5_000_000 };
                int child = s_vfork(name, arguments, none, &time);
                Expect.True(child > 0, $"vfork gave {child}");
                int status = Wait(child);
                Expect.True(status == code << 8, $"{path} ended with {status >> 8}, signal {status & 127}");
                Expect.Equal(i, kept.Value);
                ReadAll(1);
            }
            Marshal.FreeCoTaskMem((nint)name);
        }
        NativeMemory.Free(arguments);
        NativeMemory.Free(none);
    }

    [StructLayout(LayoutKind.Sequential)]
    private struct LateSteps
    {
        public void* SetStack;
        public Stack* Stack;
        public delegate* unmanaged<void*, void*> Body;
        public void* Argument;
    }

    // void* start(LateSteps* steps) { steps->SetStack(steps->Stack, NULL); return steps->Body(steps->Argument); }
    private static readonly delegate* unmanaged<void*, void*> s_late = (delegate* unmanaged<void*, void*>)Code(
    [
        0x53,                    // push rbx
        0x48, 0x89, 0xFB,        // mov rbx, rdi
        0x48, 0x8B, 0x7B, 0x08,  // mov rdi, [rbx + 8]
        0x31, 0xF6,              // xor esi, esi
        0xFF, 0x13,              // call [rbx]
        0x48, 0x8B, 0x7B, 0x18,  // mov rdi, [rbx + 24]
        0xFF, 0x53, 0x10,        // call [rbx + 16]
        0x5B,                    // pop rbx
        0xC3,                    // ret
    ]);

    private static void LateThreads(int size, bool disabled)
    {
        const int Rounds = 10, Threads = 4, Disabled = 2;
        void* setStack = (void*)NativeLibrary.GetExport(NativeLibrary.Load("libc.so.6"), "sigaltstack");
        var stacks = (Stack*)NativeMemory.AllocZeroed(Threads, (nuint)sizeof(Stack));
        var steps = (LateSteps*)NativeMemory.AllocZeroed(Threads, (nuint)sizeof(LateSteps));
        nint* threads = stackalloc nint[Threads];
        for (int round = 0; round < Rounds; round++)
        {
            Volatile.Write(ref s_entered, 0);
            for (int i = 0; i < Threads; i++)
            {
                if (stacks[i].Start == null)
                    stacks[i] = new Stack { Start = NativeMemory.AllocZeroed((nuint)size), Size = (nuint)size, Flags = disabled ? Disabled : 0 };
                steps[i] = new LateSteps { SetStack = setStack, Stack = &stacks[i], Body = &Enter };
                Expect.Equal(0, CreateThread(&threads[i], s_late, &steps[i]));
            }
            for (int i = 0; i < Threads; i++)
                pthread_join(threads[i], null);
            Expect.Equal(Threads, Volatile.Read(ref s_entered));
        }
        for (int i = 0; i < Threads; i++)
            NativeMemory.Free(stacks[i].Start);
        NativeMemory.Free(stacks);
        NativeMemory.Free(steps);
    }
}
