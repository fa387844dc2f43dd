#include "heap/mark_packets.h"

#include <string.h>

#include <new>

#include "Platform/futex.h"

namespace freehold::heap {

void MarkPackets::begin(size_t packets) noexcept {
  os::LockGuard guard(lock_);
  at_most_ = packets < kPacketsAtMost ? packets : kPacketsAtMost;
  if (at_most_ != 0 && memory_.start() == nullptr && !memory_.reserve()) at_most_ = 0;
}

void MarkPackets::release() noexcept {
  os::LockGuard guard(lock_);
  memory_.release();
  full_ = at_most_ = 0;
  count_spare();
}

void MarkPackets::count_spare() noexcept { spare_.store(static_cast<int32_t>(parked_) - static_cast<int32_t>(full_), std::memory_order_relaxed); }

void MarkPackets::wake(bool all) noexcept {
  changes_.fetch_add(1, std::memory_order_relaxed);
  if (all) os::wake_all(changes_);
  else os::wake_one(changes_);
}

bool MarkPackets::give(const uintptr_t* items, size_t count) noexcept {
  os::LockGuard guard(lock_);
  if (full_ == at_most_ || !memory_.reach((full_ + 1) * kBytes)) return false;
  memcpy(items_of(full_), items, count * sizeof *items);
  counts_[full_++] = static_cast<uint16_t>(count);
  count_spare();
  // Whoever of those that wait comes, takes it; where the first waits too, it must not be a helper that is woken and finds nothing.
  if (parked_ != 0 || first_waits_) wake(first_waits_);
  return true;
}

size_t MarkPackets::take_locked(uintptr_t* items) noexcept {
  if (full_ == 0) return 0;
  size_t count = counts_[--full_];
  memcpy(items, items_of(full_), count * sizeof *items);
  count_spare();
  return count;
}

size_t MarkPackets::take(uintptr_t* items, bool* ended) noexcept {
  os::LockGuard guard(lock_);
  *ended = full_ == 0 && working_ == 0;
  return take_locked(items);
}

size_t MarkPackets::take_or_wait(uintptr_t* items) noexcept {
  while (true) {
    uint32_t seen;
    {
      os::LockGuard guard(lock_);
      first_waits_ = full_ == 0 && working_ != 0;
      if (!first_waits_) return take_locked(items);
      seen = changes_.load(std::memory_order_relaxed);
    }
    os::wait_on(changes_, seen);
  }
}

size_t MarkPackets::join(uintptr_t* items) noexcept {
  bool was_parked = false;
  while (true) {
    uint32_t seen;
    {
      os::LockGuard guard(lock_);
      if (full_ != 0) {
        working_++;
        if (was_parked) parked_--;
        return take_locked(items);
      }
      if (!was_parked) parked_++;
      was_parked = true;
      count_spare();
      seen = changes_.load(std::memory_order_relaxed);
    }
    os::wait_on(changes_, seen);
  }
}

size_t MarkPackets::take_or_leave(uintptr_t* items) noexcept {
  os::LockGuard guard(lock_);
  if (full_ != 0) return take_locked(items);
  if (--working_ == 0 && first_waits_) wake(true);
  return 0;
}

void MarkPackets::abandon() noexcept {
  abandoned_.store(true, std::memory_order_relaxed);
  {
    os::LockGuard guard(lock_);
    full_ = 0;
    count_spare();
  }
  uintptr_t items[kItems];
  // What a helper gives after it was told is nobody's.
  while (take_or_wait(items) != 0) {}
  abandoned_.store(false, std::memory_order_relaxed);
}

void MarkPackets::forget_helpers() noexcept {
  new (&lock_) os::Lock();
  full_ = 0;
  working_ = parked_ = 0;
  first_waits_ = false;
  spare_.store(0, std::memory_order_relaxed);
  abandoned_.store(false, std::memory_order_relaxed);
}

}  // namespace freehold::heap
