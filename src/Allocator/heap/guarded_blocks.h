// What is known of guarded objects (heap/guarded_objects.h), and how much they may hold. The last kGuardedBlocks blocks are known, each with kPagesPerBlock objects; when one more
// begins, or too many objects live, the oldest is given up: of its deleted objects nothing is known any more, and what lives there is an ordinary object from then on, which compaction may move.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "heap/history.h"

namespace freehold::heap {

inline constexpr size_t kGuardedBlocks = 256;  // 512 MB of addresses, 2 MB of records

struct GuardedCounters {
  std::atomic<uint64_t> taken;   // ever
  std::atomic<uint64_t> alive;   // not deleted
  std::atomic<uint64_t> held;    // deleted, and known: a use or a second deletion tells the stacks
  std::atomic<uint64_t> caught;  // exceptions that told them, ever
};
extern GuardedCounters guarded_counters;

// Whether one more may live, after the oldest blocks were given up if need be. A hint: threads that ask together may all be told so. Any thread, which may hold a lock of heap/guarded_objects.cpp.
bool make_room_for_guarded(uint64_t alive_at_most) noexcept;
// A block for the next ones, which is not handed out yet. The oldest may be given up for it. The same threads.
void remember_guarded_block(size_t block) noexcept;
// An object gets the page, with the stack of its allocation. False: there is no memory to remember it.
bool remember_guarded(const uint8_t* start, uint32_t stack) noexcept;

// The objects on a page of such a block are all deleted. Before its memory goes, by each thread that finds it so; without locks.
void note_guarded_end(size_t page) noexcept;
// An exception tells what a fault or a second deletion has met.
void note_caught(const History& history) noexcept;

// The addresses of these blocks are about to be used again. Any thread, with the lock of heap/addresses.cpp.
void forget_guarded_blocks(size_t first, size_t count) noexcept;

}  // namespace freehold::heap
