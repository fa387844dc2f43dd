// FREEHOLD_DEATHS: looks at the sampled objects, each in a marking with the threads stopped: which died since the look before, what held them then, and what holds those that live. What is told of
// an object was seen; between two looks nothing is known. Looks come soon after a sample, at random: between a page and an interval of allocations, as often in each octave, so that short lives
// are met too. An interval is 1 MB at least, or as much as lives, so that the looks take a bounded multiple of the program's own time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heap/allocation_context.h"
#include "heap/death_samples.h"

namespace freehold::heap {

inline constexpr uint64_t kLeastLookInterval = uint64_t{1} << 20;

// Begins to record, before there is a second thread; heap/holder_support.h and reachability.h have their support. False: there is no memory for it.
bool begin_deaths() noexcept;

// The calling thread has sampled an object: perhaps a look has to follow (is_look_due() of heap/allocation_samples.h says when).
void plan_look(const AllocationContext* context) noexcept;
// Looks, and deletes what no root reaches; in the child of a fork that is all, as nothing else reclaims there. The calling thread can be stopped, and holds no lock.
void look_at_deaths() noexcept;

// System.DeathTotals has the same layout.
struct DeathTotals {
  uint64_t allocated, looks, samples, without_room;  // bytes; the last two: objects
  uint64_t longest_interval;                         // bytes that were allocated between two looks
  uint64_t nanoseconds;                              // that looks took, threads stopped
};
// What is known now: into tables as large as those of heap/death_table.h. Any thread in preemptive mode.
void take_deaths(DeathRow* rows, DeathFieldRow* fields, DeathTotals* totals) noexcept;

}  // namespace freehold::heap
