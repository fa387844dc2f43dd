#include "heap/allocation_samples.h"

#include <algorithm>
#include <atomic>

#include "Platform/lock.h"
#include "core/module_state.h"
#include "core/object.h"
#include "heap/chunks.h"
#include "heap/classification.h"
#include "heap/death_samples.h"
#include "heap/forwarding.h"
#include "heap/history.h"
#include "heap/random_intervals.h"
#include "heap/stack_store.h"
#include "os/growing_memory.h"

namespace freehold::heap {

namespace {

constexpr size_t kSamplesAtMost = size_t{1} << 20;  // of half a terabyte
constexpr size_t kStep = size_t{64} << 10;
constexpr size_t kFrames = 16;

os::Lock lock;  // guards what follows, except for `random`
struct State {
  os::GrowingMemory memory{kSamplesAtMost * sizeof(AllocationSample), kStep};
  size_t count = 0;
  size_t hand = 0;  // the sample that is looked at next: whether its object is still there
  std::atomic<uint64_t> random{1};

  void release() noexcept { memory.release(); }
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

AllocationSample* samples() noexcept { return reinterpret_cast<AllocationSample*>(state.memory.start()); }

uint64_t bytes_per_sample() noexcept { return core::knobs.records_deaths() ? kBytesPerDeathSample : kBytesPerSample; }
int64_t bytes_to_next() noexcept { return static_cast<int64_t>(random_interval(state.random, bytes_per_sample())); }

// How much is allocated for each object of this size that is met.
uint64_t weight_of(size_t size) noexcept { return size >= 2 * bytes_per_sample() ? size : bytes_per_sample() + size / 2; }

// As it is in AllocationSample.
bool is_gone(uint64_t object) noexcept { return is_deleted(reinterpret_cast<const void*>(current_address(object))); }

void drop(size_t index) noexcept { samples()[index] = samples()[--state.count]; }

// So that there are not many more samples than live objects of samples. Caller holds the lock.
void drop_some() noexcept {
  constexpr int kLooks = 4;
  for (int i = 0; i < kLooks && state.count != 0; i++) {
    if (state.hand >= state.count) state.hand = 0;
    if (is_gone(samples()[state.hand].object)) drop(state.hand);
    else state.hand++;
  }
}

}  // namespace

void shift_allocations(AllocationContext* context) noexcept {
  thread_heap.is_shift_due = false;
  size_t size = random_number(state.random) % (kShiftAtMost / core::kUnit) * core::kUnit;
  if (size == 0 || !extend_window(context, size)) return;
  fill(context->alloc_ptr - core::kHeaderSize, size);
  context->alloc_ptr += size;
  context->alloc_bytes -= static_cast<int64_t>(size);
}

Given given_to(const AllocationContext* context) noexcept {
  if (int64_t allocated = allocated_by(context); allocated >= thread_heap.sample_at) {
    thread_heap.is_sample_pending = thread_heap.sample_at != 0;
    thread_heap.sample_at = allocated + bytes_to_next();
  }
  return {context->alloc_bytes, context->alloc_bytes_uoh};
}

bool sample_allocation(const AllocationContext* context, Given before, const uint8_t* start, size_t size) noexcept {
  if (context->alloc_bytes_uoh != before.own) {
    int64_t allocated = allocated_by(context);
    if (allocated < thread_heap.sample_at) return false;
    thread_heap.sample_at = allocated + bytes_to_next();
  } else {
    if (!thread_heap.is_sample_pending || context->alloc_bytes == before.pages) return false;
    thread_heap.is_sample_pending = false;
  }
  thread_heap.is_shift_due = true;
  if (thread_heap.is_not_sampled) return false;
  if (core::knobs.records_deaths()) {
    note_birth(reinterpret_cast<core::Object*>(const_cast<uint8_t*>(start) + core::kHeaderSize), weight_of(size));
    return true;
  }
  uint32_t stack = remember_stack_of(StackOf::kAllocation, kFrames);
  if (stack == kNoStack) return false;  // the runtime's own, before there is managed code
  AllocationSample sample = {reinterpret_cast<uint64_t>(start + core::kHeaderSize), stack,
                             static_cast<uint32_t>(std::min<uint64_t>(weight_of(size) >> 10, UINT32_MAX))};
  os::LockGuard guard(lock);
  if (state.memory.start() == nullptr && !state.memory.reserve()) return false;
  drop_some();
  if (state.memory.reach((state.count + 1) * sizeof(AllocationSample))) {
    samples()[state.count++] = sample;
  } else if (state.count != 0) {
    samples()[random_number(state.random) % state.count] = sample;  // the others stand for more than they say, all alike
  }
  return true;
}

void seed_samples(uint64_t seed) noexcept { state.random.store(seed, std::memory_order_relaxed); }

void refresh_samples() noexcept {
  os::LockGuard guard(lock);
  for (size_t i = 0; i < state.count;) {
    if (is_gone(samples()[i].object)) {
      drop(i);
    } else {
      samples()[i].object = current_address(samples()[i].object);
      i++;
    }
  }
}

void for_each_sample(void (*fn)(const AllocationSample& sample, void* argument) noexcept, void* argument) noexcept {
  os::LockGuard guard(lock);
  for (size_t i = 0; i < state.count; i++) fn(samples()[i], argument);
}

}  // namespace freehold::heap
