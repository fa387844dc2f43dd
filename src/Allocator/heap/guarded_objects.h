// Guarded objects: those that FREEHOLD_SAMPLE has chosen (heap/guarded_choice.h). Each has a page of its own, in blocks of the kind kGuarded, which share it with no other kind. When it is deleted, in
// whichever way, its page goes at once (heap/dead_blocks.cpp), and the next use of it faults, as in debug mode; heap/history.h has its type and the stacks of its allocation and deletion.
// It does not move, unless its block is given up (heap/guarded_blocks.h). Serebryany et al., GWP-ASan: Sampling-Based Detection of Memory-Safety Bugs in Production, ICSE SEIP 2024.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/arena.h"

namespace freehold::heap {

inline constexpr size_t kGuardedAtMost = core::kPageSize;  // bytes of an object, header included

inline constexpr size_t kGuardedAliveAtMost = 16'384;  // 64 MB of pages

// A zeroed page for an object of `size` bytes. Null: there is no room for one more. The allocating thread, in cooperative mode, not in an emergency.
uint8_t* take_guarded_page(size_t size) noexcept;

// Calls fn for what is left of the block that pages are taken from, if there is one.
void for_rest_of_guarded(void (*fn)(uint8_t* start, const uint8_t* end) noexcept) noexcept;

}  // namespace freehold::heap
