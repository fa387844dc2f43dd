// FREEHOLD_SAMPLE=N: which objects are guarded (heap/guarded_objects.h), one in N small ones on average. The choice is made on the slow path of allocation, which sees only one of the objects
// that a thread puts into a page: that one stands for all that were allocated since the last one, as many as there would be of its size. So each object is about as likely to be chosen as any other:
// one of twice the size is met twice as often, and stands for half as many. Where objects above 1 KB get more than a page at a time, the one at the end of
// the window of 32 KB is met instead. And for that it must not be the same ones of a loop that are met: what the thread allocates is shifted by a random filler at
// times, and by one as large as the objects that were chosen, which would have lain there. (Where N is less than some hundred, one stands for more than N: then the choice falls on several in a row, larger ones more
// often, and one in N all the same. N = 1 is all.) A thread counts down to the next choice; how far is random, exponentially distributed.
#pragma once

#include <cstddef>

#include "core/knobs.h"
#include "heap/allocation_context.h"

namespace freehold::heap {

// The calling thread is about to allocate an object that its window has no room for. Counts what it has allocated since the last one.
bool count_to_guarded(const AllocationContext* context, size_t size) noexcept;
// Whether that object is to be guarded. Not in an emergency, nor what is larger than a page.
inline bool is_guard_due(const AllocationContext* context, size_t size) noexcept { return core::knobs.guards_samples() && count_to_guarded(context, size); }
// One of `size` bytes was: to the next one.
void note_guard_taken(size_t size) noexcept;
// It was to be, and there was no room for it.
void note_guard_refused() noexcept;

// Whether what the thread allocates is to be shifted, before an object of its chunk.
bool is_guard_shift_due(const AllocationContext* context) noexcept;
// Does it, if the chunk has room for that and an object of `size` bytes. `begins`: it is a new chunk, where a loop's period begins anew. Not in an emergency.
void shift_for_guarded(AllocationContext* context, size_t size, bool begins) noexcept;

// The next choices are others than those of any other process: in the child of a fork, by the thread that is there.
void choose_guarded_anew() noexcept;
void seed_guarded_choice(uint64_t seed) noexcept;  // tests only; not 0

}  // namespace freehold::heap
