// The JIT of ILCompiler 9.0.22. FREEHOLD_JIT_PATCH(name, offset, first, second, (bytes…)): at `offset` into the one place with these bytes, the two bytes there
// become `first` and `second`. The field offsets among the bytes tie it to the JIT that it was read from.

// fgSetOptions keeps a flag "this method is fully interruptible" and sets it only for debug code. Without the jump every method takes the assignment:
//      0  80 bf 21 09 00 00 00       cmp  byte [compiler.compDbgCode], 0
//      7  74 0e                      je   past the assignment                <- becomes 90 90
//      9  48 8b 83 b0 05 00 00       mov  rax, [compiler.codeGen]
//     16  c6 80 38 04 00 00 01       mov  byte [rax + m_cgInterruptible], 1
//     23  80 bb                      cmp  byte [...]                         (the next test)
FREEHOLD_JIT_PATCH(fully_interruptible, 7, 0x90, 0x90,
                   (0x80, 0xbf, 0x21, 0x09, 0x00, 0x00, 0x00, 0x74, 0x0e, 0x48, 0x8b, 0x83, 0xb0, 0x05, 0x00, 0x00, 0xc6, 0x80, 0x38, 0x04, 0x00, 0x00, 0x01,
                    0x80, 0xbb))

// optCloneLoops makes a copy of a loop without range checks, and asks for the array's length ahead of it: also where no turn of the loop uses the array, which may have been
// deleted then. The function is to find that there are no loops:
//      0  48 8b 87 18 02 00 00       mov  rax, [compiler.m_loops]
//      7  48 8b 70 18                mov  rsi, [rax + number of loops]
//     11  48 85 f6                   test rsi, rsi
//     14  0f 84 28 01 00 00          je   to the end (nothing was changed)   <- becomes 90 e9: jmp
FREEHOLD_JIT_PATCH(one_copy_of_loops, 14, 0x90, 0xe9,
                   (0x48, 0x8b, 0x87, 0x18, 0x02, 0x00, 0x00, 0x48, 0x8b, 0x70, 0x18, 0x48, 0x85, 0xf6, 0x0f, 0x84, 0x28, 0x01, 0x00, 0x00, 0x48, 0x89, 0xfb))
