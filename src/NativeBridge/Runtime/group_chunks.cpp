#include "group_chunks.h"

#include <string.h>

// A bit for each marked call site under way, and above them the group. Initial-exec, so that compiled code needs no call to find it.
extern "C" {
thread_local constinit uint64_t __freehold_group_state __attribute__((tls_model("initial-exec"), visibility("default"))) = 0;
}

namespace freehold::bridge {

uint32_t current_group() noexcept {
  constexpr int kMarks = 56;
  auto group = static_cast<uint32_t>(__freehold_group_state >> kMarks);
  return group <= kMostGroups ? group : 0;
}

void GroupChunk::initialize(uint32_t group) noexcept {
  group_ = group;
  bump_.store(first(), std::memory_order_relaxed);
  objects_.store(0, std::memory_order_relaxed);
  freed_.store(0, std::memory_order_relaxed);
  memset(static_cast<void*>(starts_), 0, sizeof starts_);
}

void* GroupChunk::allocate(uint32_t id_wanted, size_t size) noexcept {
  uint32_t at = bump_.load(std::memory_order_relaxed), ordinal = objects_.load(std::memory_order_relaxed);
  auto rounded = static_cast<uint32_t>((size + kGranule - 1) & ~size_t{kGranule - 1});
  if (at + rounded + (ordinal + 1) * sizeof(uint32_t) > kChunk) return nullptr;
  uint32_t granule = at / kGranule, word = granule / kBits;
  id(ordinal).store(id_wanted, std::memory_order_relaxed);
  uint64_t starts = starts_[word].load(std::memory_order_relaxed);
  if (starts == 0) before_[word] = static_cast<uint16_t>(ordinal);
  objects_.store(ordinal + 1, std::memory_order_relaxed);
  starts_[word].store(starts | uint64_t{1} << granule % kBits, std::memory_order_release);
  // Last: who sees that the object before is not the end of all sees where it ends, too.
  bump_.store(at + rounded, std::memory_order_release);
  return reinterpret_cast<uint8_t*>(this) + at;
}

bool GroupChunk::reset_if_empty() noexcept {
  if (!settle_and_see_if_empty()) return false;
  initialize(group_);
  return true;
}

bool GroupChunk::settle_and_see_if_empty() noexcept {
  return static_cast<uint32_t>(freed_.fetch_add(0, std::memory_order_acq_rel) >> 32) == objects_.load(std::memory_order_relaxed);
}

uint32_t GroupChunk::ordinal_of(uint32_t granule) const noexcept {
  uint32_t word = granule / kBits;
  uint64_t below = starts_[word].load(std::memory_order_acquire) & ((uint64_t{1} << granule % kBits) - 1);
  return before_[word] + static_cast<uint32_t>(__builtin_popcountll(below));
}

uint32_t GroupChunk::find(uintptr_t address, void** start, size_t* size) noexcept {
  auto offset = static_cast<uint32_t>(address - reinterpret_cast<uintptr_t>(this));
  *start = this;
  *size = 0;
  uint32_t granule = offset / kGranule, word = granule / kBits;
  if (offset < first()) return 0;
  uint32_t end = bump_.load(std::memory_order_acquire) / kGranule;
  if (granule >= end) return 0;
  uint64_t bits = starts_[word].load(std::memory_order_acquire) & (~uint64_t{0} >> (kBits - 1 - granule % kBits));
  // No object reaches further back.
  constexpr uint32_t kFurthest = kLargestGrouped / kGranule / kBits + 1;
  for (uint32_t back = 0; bits == 0; back++) {
    if (back == kFurthest || word == 0) return 0;
    bits = starts_[--word].load(std::memory_order_acquire);
  }
  uint32_t begin = word * kBits + (kBits - 1 - static_cast<uint32_t>(__builtin_clzll(bits)));
  // It ends where the next one begins.
  for (uint32_t next = begin + 1; next < end && next < kWords * kBits;) {
    uint64_t more = starts_[next / kBits].load(std::memory_order_acquire) >> next % kBits;
    if (more != 0) {
      next += static_cast<uint32_t>(__builtin_ctzll(more));
      if (next < end) end = next;
      break;
    }
    next = (next / kBits + 1) * kBits;
  }
  if (granule >= end) return 0;
  *start = reinterpret_cast<uint8_t*>(this) + begin * kGranule;
  *size = (end - begin) * kGranule;
  uint32_t found = id(ordinal_of(begin)).load(std::memory_order_relaxed);
  return (found & kFreeSlot) != 0 ? 0 : found;
}

std::atomic<uint32_t>& GroupChunk::id_of(void* start) noexcept {
  return id(ordinal_of(static_cast<uint32_t>(reinterpret_cast<uintptr_t>(start) - reinterpret_cast<uintptr_t>(this)) / kGranule));
}

bool GroupChunk::take(void* start, uint32_t id) noexcept { return id_of(start).compare_exchange_strong(id, kLoose, std::memory_order_relaxed); }

bool GroupChunk::free(void* start, size_t size) noexcept {
  id_of(start).store(kLoose, std::memory_order_relaxed);
  uint64_t freed = freed_.fetch_add(uint64_t{1} << 32 | size, std::memory_order_acq_rel) + (uint64_t{1} << 32);
  return static_cast<uint32_t>(freed >> 32) == objects_.load(std::memory_order_relaxed);
}

}  // namespace freehold::bridge
