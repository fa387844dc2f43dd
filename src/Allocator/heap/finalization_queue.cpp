#include "heap/finalization_queue.h"

#include <atomic>

#include "core/fault_recovery.h"
#include "core/object.h"
#include "heap/forwarding.h"
#include "heap/heap.h"
#include "platform/os.h"

namespace freehold::heap {

namespace {

constexpr size_t kAtMost = size_t{1} << 30;  // bytes: 134 million objects, which take 3 GB at least
constexpr size_t kStep = size_t{1} << 16;

uint64_t* queue = nullptr;
size_t committed = 0;
// Written by who searches, while the threads are stopped, and by the finalizer thread, while they are not.
std::atomic<size_t> head{0}, tail{0};

// Takes the right to run the finalizer. False: somebody has it, or the object is deleted.
bool claim(uint64_t object) noexcept {
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
      wait_while_frozen(object);
    }
  }
}

}  // namespace

bool enqueue_finalizable(uintptr_t object) noexcept {
  if (queue == nullptr && (queue = static_cast<uint64_t*>(os::reserve(kAtMost, os::kPageSize, 0))) == nullptr) return false;
  size_t end = tail.load(std::memory_order_relaxed);
  if (end * sizeof *queue == committed) {
    if (committed == kAtMost || !os::commit(reinterpret_cast<uint8_t*>(queue) + committed, kStep)) return false;
    committed += kStep;
  }
  queue[end] = object;
  tail.store(end + 1, std::memory_order_release);
  return true;
}

uintptr_t next_finalizable() noexcept {
  while (true) {
    size_t first = head.load(std::memory_order_relaxed);
    if (first == tail.load(std::memory_order_acquire)) {
      head.store(0, std::memory_order_relaxed);
      tail.store(0, std::memory_order_release);
      return 0;
    }
    uint64_t object = queue[first];
    head.store(first + 1, std::memory_order_relaxed);
    if (claim(object)) return current_address(object);
  }
}

size_t finalizable_count() noexcept {
  size_t end = tail.load(std::memory_order_acquire), first = head.load(std::memory_order_relaxed);
  return end > first ? end - first : 0;
}

void for_each_finalizable(void (*fn)(uint64_t* slot, void* argument), void* argument) noexcept {
  for (size_t i = head.load(std::memory_order_relaxed), end = tail.load(std::memory_order_relaxed); i < end; i++) fn(&queue[i], argument);
}

void reset_finalization_queue() noexcept {
  if (queue != nullptr) os::unreserve(queue, kAtMost);
  queue = nullptr;
  committed = 0;
  head.store(0);
  tail.store(0);
}

}  // namespace freehold::heap
