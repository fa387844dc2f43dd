// The JIT of ILCompiler 10.0.12. FREEHOLD_JIT_PATCH(name, offset, first, second, (bytes…)): at `offset` into the one place with these bytes, the two bytes there
// become `first` and `second`. FREEHOLD_JIT_PATCH_FOLLOWED(…, distance, (bytes…)): and so far behind its start are these. The field offsets among the bytes tie
// it to the JIT that it was read from.

// fgSetOptions keeps a flag "this method is fully interruptible" and sets it only for debug code. The assignment lies behind the function; every method is to jump there:
//      0  80 bf ad 09 00 00 01       cmp  byte [compiler.compDbgCode], 1
//      7  74 61                      je   to the assignment                  <- becomes eb 61: jmp
//      9  80 bb 37 09 00 00 01       cmp  byte [...], 1                      (the next test)
//     16  74 6f                      je
//    106  48 8b 83 38 06 00 00       mov  rax, [compiler.codeGen]
//    113  c6 80 50 05 00 00 01       mov  byte [rax + m_cgInterruptible], 1
FREEHOLD_JIT_PATCH_FOLLOWED(fully_interruptible, 7, 0xeb, 0x61,
                            (0x80, 0xbf, 0xad, 0x09, 0x00, 0x00, 0x01, 0x74, 0x61, 0x80, 0xbb, 0x37, 0x09, 0x00, 0x00, 0x01, 0x74, 0x6f), 106,
                            (0x48, 0x8b, 0x83, 0x38, 0x06, 0x00, 0x00, 0xc6, 0x80, 0x50, 0x05, 0x00, 0x00, 0x01))

// fgRemoveEmptyTryCatchOrTryFault deletes the handlers of a `try` in which, as it believes, nothing can throw. An access to an object that is known not to be null
// can, when the object was deleted. The function is to find nothing to do, as if the method had no handlers:
//      0  31 c0                      xor  eax, eax                           (nothing was changed)
//      2  83 bf f0 0a 00 00 00       cmp  dword [compiler.compHndBBtabCount], 0
//      9  0f 84 a4 02 00 00          je   to the end                         <- becomes 90 e9: jmp
FREEHOLD_JIT_PATCH(keep_handlers, 9, 0x90, 0xe9, (0x31, 0xc0, 0x83, 0xbf, 0xf0, 0x0a, 0x00, 0x00, 0x00, 0x0f, 0x84, 0xa4, 0x02, 0x00, 0x00))

// optCloneLoops makes a copy of a loop without range checks, and asks for the array's length ahead of it: also where no turn of the loop uses the array, which may have been
// deleted then. The function is to find that there are no loops:
//      0  48 8b 87 30 02 00 00       mov  rax, [compiler.m_loops]
//      7  48 8b 70 18                mov  rsi, [rax + number of loops]
//     11  48 85 f6                   test rsi, rsi
//     14  74 63                      je   to the end (nothing was changed)   <- becomes eb 63: jmp
FREEHOLD_JIT_PATCH(one_copy_of_loops, 14, 0xeb, 0x63,
                   (0x48, 0x8b, 0x87, 0x30, 0x02, 0x00, 0x00, 0x48, 0x8b, 0x70, 0x18, 0x48, 0x85, 0xf6, 0x74, 0x63, 0x48, 0x89, 0xfb))
