// Which contexts have objects that are used together, as the paper counts it. A queue has the latest accesses of one thread. With each new one those are walked, from the latest, until
// they have accessed more bytes than the affinity distance; each object on the way has an affinity with the new one's, unless
//   - it is the same object (consecutive accesses to one object are one access in the first place),
//   - a later access to that object was already met (no double counting),
//   - a context of the two has allocated between the two objects, so that they could not lie side by side (co-allocatability).
//
// Owner: the thread, under the lock of its ThreadState.
#pragma once

#include <cstdint>

#include "objects.h"
#include "reserved.h"

namespace freehold::profile {

// An access; what was known of its object then.
struct Access {
  uint32_t context;
  uint32_t bytes;
  uint64_t sequence, previous, following;
};

class Affinity {
 public:
  explicit Affinity(uint64_t distance) noexcept : distance_(distance) {}
  void add(const Access& access) noexcept;
  // Accesses that were not looked at come between.
  void interrupt() noexcept { count_ = 0; }

  // Keys: two contexts, the smaller number above; or one context alone: its accesses.
  const Counts& counts() const noexcept { return counts_; }
  static uint64_t key_of(uint32_t a, uint32_t b) noexcept { return a < b ? uint64_t{a} << 32 | b : uint64_t{b} << 32 | a; }

 private:
  static constexpr uint32_t kMost = 256;  // accesses in the queue: at 128 bytes there are never so many
  static bool could_lie_together(const Access& a, const Access& b) noexcept;

  uint64_t distance_;
  uint32_t newest_ = 0, count_ = 0;
  Access queue_[kMost] = {};
  bool met_later_[kMost] = {};
  Counts counts_;
};

}  // namespace freehold::profile
