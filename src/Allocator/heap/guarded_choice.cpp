#include "heap/guarded_choice.h"

#include <algorithm>
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

constexpr size_t kObjectsPerStep = 4;  // a window is extended by room for so many, or a page: heap/chunks.cpp
constexpr int64_t kParts = 256;        // of an object, in a countdown
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

// The chosen ones are not counted down: N objects with them.
int64_t next_interval() noexcept { return static_cast<int64_t>(random_interval(seeded(), (core::knobs.sample - 1) * kParts)) + 1; }

// Where the object meets what is not handed out yet: the end of a window of 32 KB, or of a page within one.
struct Meeting {
  bool ends_window;
  int64_t rest;  // bytes that the object has before that end; 0 where the chunk ends
};
Meeting meeting_of(const AllocationContext* context, size_t size) noexcept {
  if (context->chunk_end == nullptr) return {true, 0};
  auto start = reinterpret_cast<uintptr_t>(context->alloc_ptr) - core::kHeaderSize,
       page_end = reinterpret_cast<uintptr_t>(context->alloc_limit) - core::kHeaderSize;
  uintptr_t window_end = core::align_up(page_end, core::kWindowSize);
  if (start + size > reinterpret_cast<uintptr_t>(context->chunk_end)) return {true, 0};
  bool ends_window = start + size > window_end;
  return {ends_window, static_cast<int64_t>((ends_window ? window_end : page_end) - start)};
}

}  // namespace

bool count_to_guarded(const AllocationContext* context, size_t size) noexcept {
  ThreadHeap& heap = thread_heap;
  if (context != heap.context) return false;
  if (size > core::kLargeObject) return false;  // it does not lie in the window, and ends none
  const bool may_be = size <= kGuardedAtMost && (heap.emergency | heap.emergency_large) == 0;
  if (core::knobs.sample == 1) return may_be;
  Meeting meeting = meeting_of(context, size);
  int64_t filled = context->alloc_bytes - (context->alloc_limit - context->alloc_ptr) + meeting.rest, passed = std::max<int64_t>(filled - heap.guard_seen, 0);
  constexpr uint8_t kThisWindow = 1, kWindowBefore = 2;
  if (meeting.ends_window && passed != 0) heap.guard_larger = (heap.guard_larger & kThisWindow) != 0 ? kWindowBefore : 0;
  if (size > core::kPageSize / kObjectsPerStep) heap.guard_larger |= kThisWindow;
  // More than a page is handed out for larger objects, and how much depends on where they lie: what is met next is not met by chance. Where there were any, only the ends of windows count.
  if (!meeting.ends_window && ((heap.guard_larger & kWindowBefore) != 0 || passed > static_cast<int64_t>(core::kPageSize)))
    return may_be && heap.guard_countdown < 0;
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
  // What is not placed now is not placed at all: where the next ones lie is random anyway.
  size_t shift =
      std::min(heap.guard_unplaced, core::kLargeObject - kShiftAtMost) + (at_most != 0 ? random_number(seeded()) % (at_most / core::kUnit) * core::kUnit : 0);
  shift = std::min(shift, core::kLargeObject);  // a page knows how far before it its first object begins, if that is an object that shares pages
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
