#include "heap/guarded_choice.h"

#include <atomic>

#include "core/module_state.h"
#include "core/object.h"
#include "heap/chunks.h"
#include "heap/guarded_objects.h"
#include "heap/random_intervals.h"
#include "heap/thread_heap.h"
#include "os/kernel.h"

namespace freehold::heap {

namespace {

constexpr int64_t kParts = 256;  // of an object, in a countdown
// A shift of 256 bytes in so many on average, and a 128th of each chunk: together a hundredth of the memory.
constexpr int64_t kBytesPerShift = 128 << 10;
constexpr size_t kShiftAtMost = 512;
constexpr size_t kShareOfChunk = 64;  // the first one of a chunk is so much of it at most: up to a window, in a whole block

struct State {
  std::atomic<uint64_t> random{0};  // 0: not seeded yet. Any thread
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

std::atomic<uint64_t>& seeded() noexcept {
  uint64_t unseeded = 0;
  if (state.random.load(std::memory_order_relaxed) == 0) state.random.compare_exchange_strong(unseeded, os::random_seed() | 1, std::memory_order_relaxed);
  return state.random;
}

int64_t next_interval() noexcept { return static_cast<int64_t>(random_interval(seeded(), core::knobs.sample * kParts)) + 1; }

// Whether the object lies across the end of a window of 32 KB, or begins one. These lie at fixed distances, whatever is allocated; how often a thread asks within one depends on how large the objects are.
// *rest: how much of the window lies before its end, and is the object's; nothing where the chunk ends.
bool begins_window(const AllocationContext* context, size_t size, int64_t* rest) noexcept {
  *rest = 0;
  if (context->chunk_end == nullptr) return true;
  auto start = reinterpret_cast<uintptr_t>(context->alloc_ptr) - core::kHeaderSize, handed_out = reinterpret_cast<uintptr_t>(context->alloc_limit) - core::kHeaderSize;
  uintptr_t window_end = core::align_up(handed_out, core::kWindowSize);
  if (start + size <= window_end) return false;
  if (start + size <= reinterpret_cast<uintptr_t>(context->chunk_end)) *rest = static_cast<int64_t>(window_end - start);
  return true;
}

}  // namespace

bool count_to_guarded(const AllocationContext* context, size_t size) noexcept {
  ThreadHeap& heap = thread_heap;
  if (context != heap.context) return false;
  const bool may_be = size <= kGuardedAtMost && (heap.emergency | heap.emergency_large) == 0;
  if (core::knobs.sample == 1) return may_be;
  int64_t rest;
  if (!begins_window(context, size, &rest)) return may_be && heap.guard_countdown < 0;
  int64_t filled = context->alloc_bytes - (context->alloc_limit - context->alloc_ptr) + rest, passed = filled - heap.guard_seen;
  heap.guard_seen = filled;
  if (!may_be) return false;
  if (heap.guard_countdown == 0) heap.guard_countdown = next_interval();
  heap.guard_countdown -= passed * kParts / static_cast<int64_t>(size);
  if (heap.guard_countdown == 0) heap.guard_countdown = -1;
  return heap.guard_countdown < 0;
}

void note_guard_taken(size_t size) noexcept {
  thread_heap.guard_unplaced += size;
  note_guard_refused();
}

// What was passed beyond the last choice counts for this one.
void note_guard_refused() noexcept {
  thread_heap.guard_countdown += next_interval();
  if (thread_heap.guard_countdown == 0) thread_heap.guard_countdown = 1;
}

// Not while choices are owed: those that follow are chosen too.
bool is_guard_shift_due(const AllocationContext* context) noexcept {
  const ThreadHeap& heap = thread_heap;
  if (context != heap.context || core::knobs.sample == 1 || (heap.emergency | heap.emergency_large) != 0) return false;
  return (heap.guard_unplaced != 0 && heap.guard_countdown > 0) || heap.guard_seen - heap.guard_shifted >= kBytesPerShift;
}

void shift_for_guarded(AllocationContext* context, size_t size, bool begins) noexcept {
  ThreadHeap& heap = thread_heap;
  if (context->chunk_end == nullptr) return;
  auto room = static_cast<size_t>(static_cast<uint8_t*>(context->chunk_end) - (context->alloc_ptr - core::kHeaderSize));
  size_t at_most = begins ? room / kShareOfChunk : heap.guard_seen - heap.guard_shifted >= kBytesPerShift ? kShiftAtMost : 0;
  // The chosen ones count as allocated where they would have been.
  size_t unplaced = heap.guard_unplaced, shift = unplaced + (at_most != 0 ? random_number(seeded()) % (at_most / core::kUnit) * core::kUnit : 0);
  heap.guard_seen -= static_cast<int64_t>(unplaced);
  heap.guard_unplaced = 0;
  if (at_most != 0) heap.guard_shifted = heap.guard_seen;
  if (shift == 0 || shift + size > room || !extend_window(context, shift)) return;
  fill(context->alloc_ptr - core::kHeaderSize, shift);
  context->alloc_ptr += shift;
  context->alloc_bytes -= static_cast<int64_t>(shift);
}

void choose_guarded_anew() noexcept {
  if (!core::knobs.guards_samples()) return;
  state.random.store(os::random_seed() | 1, std::memory_order_relaxed);
  thread_heap.guard_countdown = 0;  // the parent's is the same
}

void seed_guarded_choice(uint64_t seed) noexcept { state.random.store(seed, std::memory_order_relaxed); }

}  // namespace freehold::heap
