// Marks that threads and the marker set beside each other (docs/internals/reclaim.md). While marking, whoever stores a reference *shades* what it leads to (Dijkstra et al., On-the-Fly
// Garbage Collection, CACM 1978): marks it, and tells the marker to scan it.
//
// A bit for each unit of 8 bytes, of the blocks that there were when marking began: these are *covered*. What is allocated in others counts as marked, and the rest of each chunk,
// which is handed out meanwhile, is marked at the beginning: allocation does nothing for it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/arena.h"
#include "heap/marking_bounds.h"

namespace freehold::heap {

// Written by the marker while no thread marks; `marks` by whoever marks, bit by bit.
struct Shading {
  std::atomic<uint64_t>* marks = nullptr;
  std::atomic<uint64_t>* covered = nullptr;     // a bit for each block
  std::atomic<uint64_t>* overflowed = nullptr;  // likewise: something marked there is to be scanned, and no list had room for it
  uint32_t* found = nullptr;                    // of each block of small objects, bytes of marked objects that markers have looked at. Theirs alone
  std::atomic<uint64_t>* queue = nullptr;       // what threads have shaded: 0, or an address. The marker takes it and leaves 0
  std::atomic<size_t> queued{0};                // places that were given away, more than there are if some overflowed
  std::atomic<bool> any_overflowed{false};
};
extern Shading shading;

namespace shades {

inline bool test(const std::atomic<uint64_t>* bits, size_t index) noexcept {
  return (bits[index / 64].load(std::memory_order_relaxed) >> (index % 64) & 1) != 0;
}
// Whether it was not set before.
inline bool set(std::atomic<uint64_t>* bits, size_t index) noexcept {
  uint64_t bit = uint64_t{1} << (index % 64);
  return (bits[index / 64].load(std::memory_order_relaxed) & bit) == 0 && (bits[index / 64].fetch_or(bit, std::memory_order_acq_rel) & bit) == 0;
}
inline size_t unit_of(uintptr_t address) noexcept { return (address - core::arena.start) / core::kUnit; }

}  // namespace shades

// Each of an address of the arena, a current name.
inline bool is_covered(uintptr_t address) noexcept { return shades::test(shading.covered, core::arena.block_index(address)); }
inline bool is_marked(uintptr_t address) noexcept { return !is_covered(address) || shades::test(shading.marks, shades::unit_of(address)); }
// Whether it was not marked before.
inline bool try_mark(uintptr_t address) noexcept { return is_covered(address) && shades::set(shading.marks, shades::unit_of(address)); }

inline void note_overflow(uintptr_t address) noexcept {
  shades::set(shading.overflowed, core::arena.block_index(address));
  shading.any_overflowed.store(true, std::memory_order_release);
}

// What a thread has stored, or is about to: any value, a current name if it leads into the heap. In cooperative mode. As the barriers call it, it touches general registers only, and
// neither faults nor waits.
inline void shade(uintptr_t reference) noexcept {
  if (!core::arena.contains(reference) || !try_mark(reference)) return;
  size_t place = shading.queued.fetch_add(1, std::memory_order_relaxed);
  if (place < marking_bounds.queue) shading.queue[place].store(reference, std::memory_order_release);
  else note_overflow(reference);
}

}  // namespace freehold::heap
