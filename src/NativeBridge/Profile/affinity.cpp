#include "affinity.h"

namespace freehold::profile {

bool Affinity::could_lie_together(const Access& a, const Access& b) noexcept {
  const Access& first = a.sequence < b.sequence ? a : b;
  const Access& second = a.sequence < b.sequence ? b : a;
  // Neither the first one's context has allocated in between, nor the second one's.
  return (first.following == 0 || first.following >= second.sequence) && second.previous <= first.sequence;
}

void Affinity::add(const Access& access) noexcept {
  if (count_ != 0 && queue_[newest_].sequence == access.sequence) return;
  if (uint64_t* accesses = counts_.at(access.context)) ++*accesses;
  uint64_t bytes = 0;
  uint32_t kept = 0;
  for (uint32_t back = 0; back < count_; back++) {
    uint32_t at = (newest_ - back) % kMost;
    Access& other = queue_[at];
    bytes += other.bytes;
    if (bytes > distance_) break;
    kept = back + 1;
    if (met_later_[at]) continue;
    if (other.sequence == access.sequence) {
      met_later_[at] = true;
    } else if (could_lie_together(access, other)) {
      if (uint64_t* weight = counts_.at(key_of(access.context, other.context))) ++*weight;
    }
  }
  newest_ = (newest_ + 1) % kMost;
  queue_[newest_] = access;
  met_later_[newest_] = false;
  count_ = kept + 1 < kMost ? kept + 1 : kMost;
}

}  // namespace freehold::profile
