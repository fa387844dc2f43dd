#include "heap/dead_locks.h"

#include <atomic>

#include "platform/growing_memory.h"

namespace freehold::heap {

namespace {

constexpr size_t kAtMost = (size_t{1} << 26) * sizeof(uint32_t);  // what an index has room for
constexpr size_t kStep = size_t{1} << 16;

// Written while the threads are stopped, read by them: `tail` is stored behind the item that it counts.
constinit os::GrowingMemory memory{kAtMost, kStep};
std::atomic<size_t> head{0}, tail{0};

uint32_t* items() noexcept { return reinterpret_cast<uint32_t*>(memory.start()); }

}  // namespace

void note_dead_lock(uint32_t index) noexcept {
  if (memory.start() == nullptr && !memory.reserve()) return;
  size_t end = tail.load(std::memory_order_relaxed);
  if (head.load(std::memory_order_relaxed) == end) {
    head.store(0, std::memory_order_relaxed);
    end = 0;
  }
  if (!memory.reach((end + 1) * sizeof(uint32_t))) return;
  items()[end] = index;
  tail.store(end + 1, std::memory_order_release);
}

uint32_t take_dead_lock() noexcept {
  size_t first = head.load(std::memory_order_relaxed);
  while (first < tail.load(std::memory_order_acquire)) {
    // Several threads may take; nobody appends meanwhile, so that an item stays what it was.
    uint32_t index = items()[first];
    if (head.compare_exchange_weak(first, first + 1, std::memory_order_relaxed)) return index;
  }
  return 0;
}

size_t dead_locks() noexcept {
  size_t end = tail.load(std::memory_order_acquire), first = head.load(std::memory_order_relaxed);
  return end > first ? end - first : 0;
}

void reset_dead_locks() noexcept {
  memory.release();
  head.store(0);
  tail.store(0);
}

}  // namespace freehold::heap
