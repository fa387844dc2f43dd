// Moves between memory and a register, done by the handler of a fault in the place of the processor: so an access through a handle costs one signal, not two.
//
// Only instructions that copy bytes: mov, movzx, movsx, movsxd, movnti, and those of SSE and AVX that move 4 to 32 bytes without arithmetic. All others are none.
#pragma once

#include <ucontext.h>

#include <cstdint>

#include "Platform/operand.h"

namespace freehold::bridge {

// Where the context keeps the registers, by their numbers in instructions.
inline constexpr int kPlaces[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                  REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

struct Move {
  enum Kind : uint8_t { kLoad, kStore, kStoreImmediate, kLoadVector, kStoreVector };

  freehold::os::Operand operand;  // the memory
  int64_t immediate;
  uint8_t length;  // of the instruction
  uint8_t size;    // bytes of memory
  Kind kind;
  uint8_t number;  // of the register
  // General registers: how many bytes a load changes, of which 4 also clear the upper half, and whether it extends the sign. `high`: it is ah, ch, dh or bh.
  uint8_t width;
  bool is_signed, is_high;
  // Vectors: which byte of the register they begin at; whether a load leaves the rest of the 16 bytes, and clears what is above them. Those that want aligned memory do
  // not need it here: the handle is as aligned as its code has made it, and the object need not be.
  uint8_t first;
  bool merges, clears_above;
};

// Once, before the first fault: asks the processor where vectors lie in a context.
void find_vectors() noexcept;

// False: the instruction is none of those. Reads no byte behind it. Signal-safe, as perform() is.
bool decode_move(const uint8_t* code, Move* move) noexcept;

// The access, at that address, which must be readable and writable, and the step to the next instruction. False: nothing is done; the context has no place for the register.
bool perform(const Move& move, uintptr_t address, ucontext_t* context) noexcept;

}  // namespace freehold::bridge
