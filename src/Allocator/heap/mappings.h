// Kernel mappings as something that runs out: Linux allows a process 65,530 (vm.max_map_count), whoever makes them.
//
// Frames that moved have a mapping of their own wherever they lie, as the kernel remembers where they were first. So recycling takes one or two mappings for
// each 2 MB, and a heap of 100 GB would use all up. When they become short, for the heap's budget or since the process has few left, the heap changes
// for good to a way of life that needs few:
//
//   new blocks      get fresh memory: frames do not move any more. Neighbours then lie in one mapping
//   dead blocks     are emptied in place, watched by userfaultfd together with their neighbours that are full: memory that is there does not mind being watched,
//                   and all of it is one mapping
//   blocks with flags of their own (no huge pages, prefaulted): none any more
//   dead huge objects, and what else cannot be emptied so, lose their memory by guards in the page tables, which take no mapping (Linux 6.13)
//
// When others have used up all of them, the first refusal makes the heap thrifty, and frees the mappings that it has kept to spare: what follows goes on with
// these. Whoever takes those too leaves the blocks that are mapped from the start (heap/addresses.h), for an exception and its handling.
//
// It costs page faults: some 100 us for a block that would have been recycled in 5. With mprotect dead memory needs mappings as ever, only frames stay.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace freehold::heap {

extern std::atomic<bool> mappings_short;
// Frames do not move any more. Never taken back: an empty, watched mapping beside which frames arrive that were its neighbours once would not be watched
// any longer (docs/internals/README.md), and from now on there are empty ones where nobody knows of them.
inline bool are_mappings_short() noexcept { return mappings_short.load(std::memory_order_relaxed); }

// Around each move of frames. False: they do not move any more.
bool begin_move() noexcept;
void end_move() noexcept;

// How many mappings the heap may need until it becomes thrifty: FREEHOLD_MAP_BUDGET, or, with userfaultfd and if that is not set, three quarters of what the
// kernel allows a process. With mprotect it is the budget of single dead pages, and frames move until the process has those three quarters.
size_t mapping_budget() noexcept;
// All mappings of the process but the spare ones, as the kernel lists them: 20 ms for each 20,000. 0: not known.
size_t count_mappings() noexcept;
// Keeps mappings to spare, from a heap of some size on and while the process has enough. Then asks for the number where `bound`, what the heap needs at most, may have gone beyond the budget since it was last asked, and draws the conclusion. The
// maintenance thread, once in a tick.
void watch_mappings(size_t bound) noexcept;
// The kernel refused something that takes a mapping. Whether the process has few left is asked once more, and the conclusion drawn. True when it has, and spare
// ones were freed: worth another try. The caller may hold any lock.
bool note_refusal(size_t bound) noexcept;

}  // namespace freehold::heap
