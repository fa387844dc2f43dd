#include "heap/dead_locks.h"

#include <atomic>

#include "core/module_state.h"
#include "os/growing_memory.h"

namespace freehold::heap {

namespace {

constexpr size_t kAtMost = (size_t{1} << 26) * sizeof(uint32_t);  // what an index has room for
constexpr size_t kStep = size_t{1} << 16;

// Written by one thread at a time, beside those that take: `tail` is stored behind the item that it counts. Begun anew only while the threads are stopped.
struct State {
  os::GrowingMemory memory{kAtMost, kStep};
  std::atomic<size_t> head{0}, tail{0};

  void release() noexcept { memory.release(); }
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

uint32_t* items() noexcept { return reinterpret_cast<uint32_t*>(state.memory.start()); }

}  // namespace

void note_dead_lock(uint32_t index) noexcept {
  if (state.memory.start() == nullptr && !state.memory.reserve()) return;
  size_t end = state.tail.load(std::memory_order_relaxed);
  if (!state.memory.reach((end + 1) * sizeof(uint32_t))) return;
  items()[end] = index;
  state.tail.store(end + 1, std::memory_order_release);
}

void begin_dead_locks() noexcept {
  if (state.head.load(std::memory_order_relaxed) != state.tail.load(std::memory_order_relaxed)) return;
  state.head.store(0, std::memory_order_relaxed);
  state.tail.store(0, std::memory_order_release);
}

uint32_t take_dead_lock() noexcept {
  size_t first = state.head.load(std::memory_order_relaxed);
  while (first < state.tail.load(std::memory_order_acquire)) {
    // Several threads may take, and one append: an item stays what it was.
    uint32_t index = items()[first];
    if (state.head.compare_exchange_weak(first, first + 1, std::memory_order_relaxed)) return index;
  }
  return 0;
}

size_t dead_locks() noexcept {
  size_t end = state.tail.load(std::memory_order_acquire), first = state.head.load(std::memory_order_relaxed);
  return end > first ? end - first : 0;
}

}  // namespace freehold::heap
