// Block moves and fills in assembly (memory_moves.S) and the bounds of the code that the fault handler may unwind by its return address alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/abi.h"

extern "C" {
void RhBulkMoveWithWriteBarrier(void* destination, const void* source, size_t size) noexcept;
[[gnu::visibility("hidden")]] extern const char freehold_bulk_move_end[];
void* RhpGcSafeZeroMemory(void* memory, size_t size) noexcept;

[[gnu::visibility("hidden")]] extern uint32_t freehold_fast_strings;
[[gnu::visibility("hidden")]] extern const char freehold_frameless_moves_begin[], freehold_frameless_moves_end[];
[[gnu::visibility("hidden")]] extern const char freehold_frameless_barriers_begin[], freehold_frameless_barriers_end[];
}

namespace freehold::runtime {

// Chooses the instructions that the processor does best. Once, at start.
void configure_memory_moves() noexcept;

// Code in which the return address is at [rsp] at every instruction. Signal-safe.
inline bool is_frameless_helper(uintptr_t address) noexcept {
  auto within = [address](const char* begin, const char* end) noexcept {
    return address - reinterpret_cast<uintptr_t>(begin) < static_cast<uintptr_t>(end - begin);
  };
  return within(freehold_frameless_moves_begin, freehold_frameless_moves_end) || within(freehold_frameless_barriers_begin, freehold_frameless_barriers_end);
}

// The move of references. When it ends by an exception, some are stored already: rdi and rdx say where it moves to.
inline bool is_bulk_move(uintptr_t address) noexcept {
  auto begin = reinterpret_cast<uintptr_t>(RhBulkMoveWithWriteBarrier);
  return address - begin < reinterpret_cast<uintptr_t>(freehold_bulk_move_end) - begin;
}

}  // namespace freehold::runtime
