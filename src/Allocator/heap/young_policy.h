// When a reclaim looks through young objects alone (heap/young_blocks.h): after a quarter of the growth that asks for one of all objects, as long as that pays. What a young one leaves over,
// since it was old already or in a block that began before, is found when the heap has grown so far all the same, and at the latest after so many young ones in a row.
#pragma once

#include <cstdint>

#include "heap/reclaim_scope.h"

namespace freehold::heap {

enum class ReclaimDue : uint8_t { kNothing, kYoung, kAll };

// What is due, if the heap has not grown by `growth` since all objects were looked through; so many bytes live.
ReclaimDue young_due(uint64_t live, uint64_t growth) noexcept;
// A reclaim has ended.
struct Reclaimed {
  ReclaimScope scope;
  bool marked;       // there was memory for it
  uint64_t deleted;  // bytes
  uint64_t live;     // bytes, now
  uint64_t cost;     // nanoseconds of a processor; 0: not known
};
// So many bytes lived when it began. Whoever is in reclaim().
void note_for_young(const Reclaimed& reclaimed, uint64_t begun) noexcept;

}  // namespace freehold::heap
