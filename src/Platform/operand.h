// Which registers an instruction computes its memory address from. Not a disassembler: it knows prefixes, ModRM and SIB, which opcodes have them,
// and the string instructions. tests/Allocator.Tests/operand_test.cpp compares it with Zydis over whole libraries.
#pragma once

#include <cstdint>

namespace freehold::os {

// One access: base + index * scale + displacement. Registers have the numbers of the instruction set: rax rcx rdx rbx rsp rbp rsi rdi r8 … r15.
struct Operand {
  static constexpr int8_t kNone = -1;
  int8_t base;
  int8_t index;
  uint8_t scale;
  bool compressed;  // EVEX: the displacement counts elements, whose size depends on the instruction
  int64_t displacement;
};

// The accesses of the instruction at `code` through registers or to an absolute address: none, one, or two (movs, cmps). Implicit ones of the
// stack (push, call) are left out. So are addresses that cannot lie in the heap (relative to rip, to fs or gs, of 32 bits), and those of gathers,
// scatters, tiles and xlat, which compiled code does not use. Reads no byte behind the instruction. Signal-safe.
struct Operands {
  uint8_t count;
  Operand operand[2];
};
Operands decode_operands(const uint8_t* code) noexcept;

}  // namespace freehold::os
