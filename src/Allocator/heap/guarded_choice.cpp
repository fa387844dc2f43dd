#include "heap/guarded_choice.h"

#include <atomic>

#include "core/module_state.h"
#include "heap/guarded_objects.h"
#include "heap/random_intervals.h"
#include "heap/thread_heap.h"
#include "os/kernel.h"

namespace freehold::heap {

namespace {

constexpr int64_t kParts = 256;  // of an object, in a countdown

struct State {
  std::atomic<uint64_t> random{0};  // 0: not seeded yet. Any thread
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

int64_t next_interval() noexcept {
  uint64_t unseeded = 0;
  if (state.random.load(std::memory_order_relaxed) == 0) state.random.compare_exchange_strong(unseeded, os::random_seed() | 1, std::memory_order_relaxed);
  return static_cast<int64_t>(random_interval(state.random, core::knobs.sample * kParts)) + 1;
}

}  // namespace

bool count_to_guarded(const AllocationContext* context, size_t size) noexcept {
  ThreadHeap& heap = thread_heap;
  if (context != heap.context) return false;
  int64_t filled = context->alloc_bytes - (context->alloc_limit - context->alloc_ptr), passed = filled - heap.guard_seen;
  heap.guard_seen = filled;
  if (size > kGuardedAtMost || (heap.emergency | heap.emergency_large) != 0) return false;
  if (core::knobs.sample == 1) return true;
  if (heap.guard_countdown == 0) heap.guard_countdown = next_interval();
  heap.guard_countdown -= passed * kParts / static_cast<int64_t>(size);
  if (heap.guard_countdown == 0) heap.guard_countdown = -1;
  return heap.guard_countdown < 0;
}

// What was passed beyond the last choice counts for this one.
void note_guard_taken() noexcept {
  thread_heap.guard_countdown += next_interval();
  if (thread_heap.guard_countdown == 0) thread_heap.guard_countdown = 1;
}

void choose_guarded_anew() noexcept {
  if (core::knobs.guards_samples()) state.random.store(os::random_seed() | 1, std::memory_order_relaxed);
}

void seed_guarded_choice(uint64_t seed) noexcept { state.random.store(seed, std::memory_order_relaxed); }

}  // namespace freehold::heap
