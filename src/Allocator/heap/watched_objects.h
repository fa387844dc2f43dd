// Which sampled object an address is, as fast as a look at every reference of the heap asks: a filter of bits that stays in the cache, then a table. Of one look, with the threads stopped.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heap/death_samples.h"
#include "os/growing_memory.h"

namespace freehold::heap {

class WatchedObjects {
 public:
  // None is watched. Room for so many; false: there is no memory for them.
  bool begin(size_t count) noexcept;
  void add(DeathSample* sample) noexcept;
  DeathSample* find(uint64_t object) const noexcept {
    uint64_t hash = hash_of(object);
    if ((filter_[hash >> kFilterShift >> 6] >> (hash >> kFilterShift & 63) & 1) == 0) [[likely]]
      return nullptr;
    return find_in_table(object, hash);
  }
  void release() noexcept { memory_.release(); }

 private:
  static constexpr size_t kMost = size_t{1} << 22;  // twice as many as there are samples
  static constexpr size_t kFilterBits = size_t{1} << 17;
  static constexpr int kFilterShift = 64 - 17;

  static uint64_t hash_of(uint64_t object) noexcept { return object * 0x9e3779b97f4a7c15; }
  DeathSample* find_in_table(uint64_t object, uint64_t hash) const noexcept;
  DeathSample** table() const noexcept { return reinterpret_cast<DeathSample**>(memory_.start()); }

  os::GrowingMemory memory_{kMost * sizeof(DeathSample*), size_t{64} << 10};
  size_t mask_ = 0;
  uint64_t filter_[kFilterBits / 64] = {};
};

}  // namespace freehold::heap
