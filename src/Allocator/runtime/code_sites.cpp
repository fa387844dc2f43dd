#include "runtime/code_sites.h"

#include <atomic>
#include <cstddef>

#include "core/fault_counters.h"

namespace freehold::runtime {

namespace {

// An open hash table that is never cleared. Two sites whose hashes agree count as one: only those with a caller can, as the hash loses nothing of one address.
constexpr size_t kSlots = size_t{1} << 18;
constexpr size_t kSitesAtMost = kSlots / 2;
std::atomic<uint64_t> sites[kSlots];

}  // namespace

bool is_new_site(uintptr_t ip, uintptr_t caller) noexcept {
  uint64_t hash = (ip ^ caller * 0x9e3779b97f4a7c15) * 0xff51afd7ed558ccd;
  hash ^= hash >> 32;
  if (hash == 0) hash = 1;  // 0 is an empty slot
  for (size_t slot = hash % kSlots;; slot = (slot + 1) % kSlots) {
    uint64_t there = sites[slot].load(std::memory_order_relaxed);
    if (there == hash) return false;
    if (there != 0) continue;
    if (core::fault_counters.sites.load(std::memory_order_relaxed) >= kSitesAtMost) return false;
    if (sites[slot].compare_exchange_strong(there, hash, std::memory_order_relaxed)) {
      core::fault_counters.sites.fetch_add(1, std::memory_order_relaxed);
      return true;
    }
    if (there == hash) return false;
  }
}

}  // namespace freehold::runtime
