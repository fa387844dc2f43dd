// How much the lists of a marking hold: what finds no room is noted by its block, and looked for there (heap/shading.h). So marking needs the memory of these lists and a bit for each unit, whatever
// the shape of the heap. Small ones force that path: tests, and FREEHOLD_STRESS=reclaim at random.
#pragma once

#include <cstddef>

namespace freehold::heap {

struct MarkingBounds {
  static constexpr size_t kStack = size_t{1} << 11, kRests = size_t{1} << 12, kPackets = size_t{1} << 11, kQueue = size_t{1} << 20, kKept = size_t{1} << 20;

  size_t stack = kStack;      // objects, of each marker
  size_t rests = kRests;      // arrays of which a part was scanned, of each marker
  size_t packets = kPackets;  // that markers share
  size_t queue = kQueue;      // objects that threads have shaded
  size_t kept = kKept;        // objects that finalizable ones lead to
};
// Written while nothing is marked.
extern MarkingBounds marking_bounds;

// FREEHOLD_STRESS=reclaim: others, at random; else nothing happens.
void stress_bounds() noexcept;

}  // namespace freehold::heap
