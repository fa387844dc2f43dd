#include "heap/watched_objects.h"

#include <string.h>

namespace freehold::heap {

bool WatchedObjects::begin(size_t count) noexcept {
  size_t capacity = 64;
  while (capacity < 2 * count) capacity *= 2;
  if (capacity > kMost || (memory_.start() == nullptr && !memory_.reserve()) || !memory_.reach(capacity * sizeof(DeathSample*))) return false;
  memset(memory_.start(), 0, capacity * sizeof(DeathSample*));
  memset(filter_, 0, sizeof filter_);
  mask_ = capacity - 1;
  return true;
}

void WatchedObjects::add(DeathSample* sample) noexcept {
  uint64_t hash = hash_of(sample->object);
  filter_[hash >> kFilterShift >> 6] |= uint64_t{1} << (hash >> kFilterShift & 63);
  size_t index = hash >> 20 & mask_;
  while (table()[index] != nullptr) index = (index + 1) & mask_;
  table()[index] = sample;
}

DeathSample* WatchedObjects::find_in_table(uint64_t object, uint64_t hash) const noexcept {
  for (size_t index = hash >> 20 & mask_; table()[index] != nullptr; index = (index + 1) & mask_)
    if (table()[index]->object == object) return table()[index];
  return nullptr;
}

}  // namespace freehold::heap
