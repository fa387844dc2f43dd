#include "scoped_pins.h"

#include "handle_table.h"

namespace freehold::bridge {

ScopedPins scoped_pins;

ScopedPins::Entry* ScopedPins::entries() noexcept {
  Entry* all = entries_.load(std::memory_order_acquire);
  if (all != nullptr) return all;
  constexpr size_t kSize = kMost * sizeof(Entry);
  auto* made = static_cast<Entry*>(os::map(kSize));
  if (made == nullptr || entries_.compare_exchange_strong(all, made, std::memory_order_acq_rel)) return made;
  os::unmap(made, kSize);
  return all;
}

// 0: none is left.
uint32_t ScopedPins::take_unused() noexcept {
  const Entry* all = entries();
  if (all == nullptr) return 0;
  for (uint64_t head = unused_.load(std::memory_order_acquire); static_cast<uint32_t>(head) != 0;) {
    // If another thread takes it first, this is a handle by now, and the exchange fails.
    uint64_t next = all[static_cast<uint32_t>(head)].word.load(std::memory_order_relaxed);
    if (unused_.compare_exchange_weak(head, ((head >> 32) + 1) << 32 | static_cast<uint32_t>(next), std::memory_order_acq_rel, std::memory_order_acquire))
      return static_cast<uint32_t>(head);
  }
  for (uint32_t end = end_.load(std::memory_order_relaxed); end != kMost;) {
    if (end_.compare_exchange_weak(end, end + 1, std::memory_order_acq_rel, std::memory_order_relaxed)) return end;
  }
  return 0;
}

uint64_t ScopedPins::add(uint64_t handle) noexcept {
  uint32_t place = take_unused();
  if (place == 0) return 0;
  Entry& entry = entries()[place];
  entry.word.store(handle, std::memory_order_release);
  count_.fetch_add(1, std::memory_order_relaxed);
  return uint64_t{entry.uses.load(std::memory_order_relaxed)} << 32 | place;
}

bool ScopedPins::remove(uint64_t pin, uint64_t handle) noexcept {
  auto place = static_cast<uint32_t>(pin), uses = static_cast<uint32_t>(pin >> 32);
  if (place == 0 || place >= end_.load(std::memory_order_acquire)) return false;
  Entry& entry = entries()[place];
  if (entry.word.load(std::memory_order_acquire) != handle || !entry.uses.compare_exchange_strong(uses, uses + 1, std::memory_order_acq_rel)) return false;
  uint64_t head = unused_.load(std::memory_order_acquire);
  do entry.word.store(static_cast<uint32_t>(head), std::memory_order_relaxed);
  while (!unused_.compare_exchange_weak(head, (head >> 32) << 32 | place, std::memory_order_acq_rel, std::memory_order_acquire));
  count_.fetch_sub(1, std::memory_order_relaxed);
  return true;
}

bool ScopedPins::has(uint32_t id) noexcept {
  bool found = false;
  if (count() != 0) for_each([&](uint64_t handle) { found |= HandleTable::id_of(handle) == id; });
  return found;
}

}  // namespace freehold::bridge
