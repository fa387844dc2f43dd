// Blocks that wait for something: frames for their next use, empty addresses for the end of their mappings, fresh memory for a thread, dead blocks for the end of
// their pins. The lists are linked through BlockRecord::next.
#pragma once

#include <cstddef>
#include <cstdint>

#include "Platform/lock.h"

namespace freehold::heap {

inline constexpr uint32_t kEndOfList = UINT32_MAX;
inline constexpr size_t kPoolIntervals = 8;

// Guards the lists, and the state and list links of blocks.
extern os::Lock block_lock;

struct BlockLists {
  uint32_t pool_head = kEndOfList;
  size_t pool_size = 0;
  // The pool's smallest sizes: since the last look at its surplus, and in the intervals before. A round of promotion fills the pool for a hundred
  // milliseconds or more of allocation; what it fills in vain is not there for long.
  size_t pool_minimum = 0;
  size_t pool_minima[kPoolIntervals] = {};
  size_t pool_interval = 0;
  uint32_t moved_head = kEndOfList;
  size_t moved_size = 0;
  uint32_t prefaulted_head = kEndOfList;  // fresh blocks that wait with their memory
  uint32_t pinned_head = kEndOfList;      // dead blocks and huge objects that wait for their pins
  uint32_t huge_head = kEndOfList;        // dead huge objects whose memory is still to go, the oldest first,
  uint32_t huge_tail = kEndOfList;        // the newest of them,
  uint32_t huge_ending = kEndOfList;      // and the one whose memory goes now
};
extern BlockLists block_lists;

// The caller of all these holds the lock.

// kNoBlock: there is none.
size_t pop_pooled() noexcept;
// The block's frames wait for their next use; its state does not change.
void push_pooled(size_t block) noexcept;
// A block that waits with its memory. It counts as `starting` from here on, for a moment in both counts. kNoBlock: there is none.
size_t pop_prefaulted() noexcept;
// The block's frames have moved: it is kMoved from now on.
void push_moved(size_t block) noexcept;

}  // namespace freehold::heap
