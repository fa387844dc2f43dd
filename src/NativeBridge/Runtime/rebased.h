// Copies of instructions that run in their place, with addresses where the code has handles.
#pragma once

#include <cstdint>

#include "Platform/operand.h"

namespace freehold::bridge {

inline constexpr unsigned kLongestInstruction = 15;
inline constexpr int kNotRebased = -1;

// A copy that finds its memory through another register. For instructions whose address register is data as well (cmp %rax,(%rax) compares the handle, mov %rdi,(%rdi)
// stores it): an address in that register would be the wrong data. The register has the number of the instruction set. Returns the one that takes its place, which the instruction uses for nothing else, or
// kNotRebased: the register is only an address, or this is not known of the instruction. `copy` has kLongestInstruction bytes. Signal-safe.
int rebase(const uint8_t* code, int8_t address_register, uint8_t* copy) noexcept;

// A copy that needs no aligned memory. For moves of vectors of more than 16 bytes: code aligns the handle (strlen of the C library does), and the object is aligned to 16.
// False: the instruction is none of those. `copy` as above. Signal-safe.
bool copy_without_alignment(const uint8_t* code, uint8_t* copy) noexcept;

// A copy of a repeated string instruction (rep movs and its kind) with a breakpoint behind it: a single step would end after each round. False: it is none.
// `copy` has kLongestInstruction + 1 bytes. Signal-safe.
bool copy_repeated(const uint8_t* code, uint8_t* copy) noexcept;

// The register that a gather or scatter computes its addresses from, which decode_operands leaves out. kNone: it is none, or has no such register.
int8_t base_of_gather(const uint8_t* code) noexcept;

}  // namespace freehold::bridge
