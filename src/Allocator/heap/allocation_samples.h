// FREEHOLD_RECLAIM=report, FREEHOLD_DEATHS: where some of the live objects were allocated, for the report of leaks (heap/leaks.h). A thread samples an object when it has allocated so many bytes since the last
// one, 512 KB on average and at random: a byte of a large object is as likely to be met as one of a small object. Of small ones nobody knows where in a page they lie, as most are made without a call. So the one
// that needs the next page is met for those before it: each has a share of these by its bytes. One that comes this way for another reason, as finalizable objects all do, is not met before.
// With FREEHOLD_DEBUG=stacks heap/history.h knows all, and nothing is sampled.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/arena.h"
#include "core/knobs.h"
#include "heap/allocation_context.h"
#include "heap/thread_heap.h"

namespace freehold::heap {

inline constexpr size_t kShiftAtMost = 64 * core::kUnit;  // bytes of a filler that breaks a period
inline constexpr uint64_t kBytesPerSample = uint64_t{512} << 10;
inline constexpr uint64_t kBytesPerDeathSample = uint64_t{128} << 10;  // FREEHOLD_DEATHS

inline int64_t allocated_by(const AllocationContext* context) noexcept { return context->alloc_bytes + context->alloc_bytes_uoh; }

// FREEHOLD_DEATHS: the calling thread has to look (heap/death_look.h).
inline bool is_look_due(const AllocationContext* context) noexcept { return thread_heap.look_at != 0 && allocated_by(context) >= thread_heap.look_at; }
// Whether the next object of the calling thread is to be one, or a look is due before it: it takes the slow path then.
inline bool is_sample_due(const AllocationContext* context) noexcept {
  return core::knobs.samples_allocations() && (thread_heap.is_sample_pending || allocated_by(context) >= thread_heap.sample_at || is_look_due(context));
}
// Once for each sample: objects of a loop fill pages with a period, and the same one would be met at the end of each. A filler of random size breaks that.
void shift_allocations(AllocationContext* context) noexcept;
// What the context had been given before an object. The other: memory of objects that have their own.
struct Given {
  int64_t pages = 0, own = 0;
};
Given given_to(const AllocationContext* context) noexcept;
// An object is there, of which nobody knows yet. Remembers it, if it is due: true. With FREEHOLD_DEATHS heap/death_samples.h does. The allocating thread, in cooperative mode.
bool sample_allocation(const AllocationContext* context, Given before, const uint8_t* start, size_t size) noexcept;

struct AllocationSample {
  uint64_t object;  // the name that it had last
  uint32_t stack;   // heap/stack_store.h
  uint32_t weight;  // KB that it stands for
};
static_assert(sizeof(AllocationSample) == 16);

// Which objects are met from now on: the same number, the same ones. Before there is a second thread.
void seed_samples(uint64_t seed) noexcept;

// With the threads stopped: what is deleted is forgotten, the names of the others are made current.
void refresh_samples() noexcept;
// After that.
void for_each_sample(void (*fn)(const AllocationSample& sample, void* argument) noexcept, void* argument) noexcept;

}  // namespace freehold::heap
