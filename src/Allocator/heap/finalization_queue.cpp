#include "heap/finalization_queue.h"

#include <string.h>

#include <atomic>

#include "core/fault_recovery.h"
#include "core/module_state.h"
#include "core/object.h"
#include "heap/classification.h"
#include "heap/forwarding.h"
#include "heap/thread_heap.h"
#include "os/growing_memory.h"

namespace freehold::heap {

namespace {

constexpr size_t kAtMost = size_t{1} << 30;  // bytes: 134 million objects, which take 3 GB at least
constexpr size_t kStep = size_t{1} << 16;

// Who marks, while the threads are stopped, appends; the finalizer thread takes, in cooperative mode, so that it cannot be stopped half way. So the two
// never meet; atomic for finalizable_count().
struct State {
  os::GrowingMemory memory{kAtMost, kStep};
  std::atomic<size_t> head{0}, tail{0};

  void release() noexcept { memory.release(); }
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

uint64_t* items() noexcept { return reinterpret_cast<uint64_t*>(state.memory.start()); }

}  // namespace

bool enqueue_finalizable(uintptr_t object) noexcept {
  if (state.memory.start() == nullptr && !state.memory.reserve()) return false;
  size_t first = state.head.load(std::memory_order_relaxed), end = state.tail.load(std::memory_order_relaxed);
  // One that is never empty must not grow for ever.
  if (first > end / 2) {
    end -= first;
    memmove(items(), items() + first, end * sizeof(uint64_t));
    state.head.store(0, std::memory_order_relaxed);
    state.tail.store(end, std::memory_order_release);
  }
  if (!state.memory.reach((end + 1) * sizeof(uint64_t))) return false;
  items()[end] = object;
  state.tail.store(end + 1, std::memory_order_release);
  return true;
}

bool claim_finalizer(uintptr_t object) noexcept {
  while (true) {
    auto* sync = reinterpret_cast<uint32_t*>(current_address(object)) - 1;
    uint32_t value;
    bool swapped;
    if (is_deleted(sync + 1)) return false;
    if (!core::try_load(sync, &value)) continue;
    if ((value & core::kSyncFinalizerRun) != 0) return false;
    if (core::try_compare_and_swap(sync, value, value | core::kSyncFinalizerRun, &swapped)) {
      if (swapped) return true;
    } else {
      wait_while_evacuating(reinterpret_cast<uintptr_t>(sync));
    }
  }
}

uintptr_t next_finalizable() noexcept {
  thread_heap.finalizes = true;
  while (true) {
    size_t first = state.head.load(std::memory_order_relaxed);
    if (first == state.tail.load(std::memory_order_acquire)) {
      state.head.store(0, std::memory_order_relaxed);
      state.tail.store(0, std::memory_order_release);
      return 0;
    }
    uint64_t object = items()[first];
    state.head.store(first + 1, std::memory_order_relaxed);
    if (claim_finalizer(object)) return current_address(object);
  }
}

size_t finalizable_count() noexcept {
  size_t end = state.tail.load(std::memory_order_acquire), first = state.head.load(std::memory_order_relaxed);
  return end > first ? end - first : 0;
}

void for_each_finalizable(void (*fn)(uint64_t* slot, void* argument), void* argument) noexcept {
  for (size_t i = state.head.load(std::memory_order_relaxed), end = state.tail.load(std::memory_order_relaxed); i < end; i++) fn(&items()[i], argument);
}

}  // namespace freehold::heap
