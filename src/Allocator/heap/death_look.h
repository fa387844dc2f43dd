// FREEHOLD_DEATHS: looks at the sampled objects, each in a marking with the threads stopped: which died since the look before, what held them then, and what holds those that live. What is told of
// an object was seen; between two looks nothing is known. Looks come soon after a sample, at random: between a page and an interval of allocations, as often in each octave, so that short lives
// are met too. An interval is 1 MB at least, or as much as lives; and where looks take long, as long as the program needs for twice their time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heap/allocation_context.h"
#include "heap/death_samples.h"

namespace freehold::heap {

inline constexpr uint64_t kLeastLookInterval = uint64_t{1} << 20, kLongestLookInterval = uint64_t{1} << 40;

// Begins to record, before there is a second thread; heap/holder_support.h and reachability.h have their support. False: there is no memory for it.
bool begin_deaths() noexcept;

// The calling thread has sampled an object: perhaps a look has to follow (is_look_due() of heap/allocation_samples.h says when).
void plan_look(const AllocationContext* context) noexcept;
// Looks, and deletes what no root reaches; in the child of a fork that is all, as nothing else reclaims there. The calling thread can be stopped, and holds no lock.
void look_at_deaths() noexcept;

// Bytes from a look to the next one: `allocated` is how much the program has allocated in the `worked` nanoseconds before the look, which took `looked` nanoseconds.
uint64_t look_interval(uint64_t live, uint64_t allocated, uint64_t worked, uint64_t looked) noexcept;

// For tests: what looks are timed with, before begin_deaths().
void set_look_clock(uint64_t (*nanoseconds)()) noexcept;
// For tests: is called in take_deaths() where nobody holds the lock.
void call_between_pieces(void (*function)()) noexcept;

// System.DeathTotals has the same layout.
struct DeathTotals {
  uint64_t allocated, looks, samples, without_room;  // bytes; the last two: objects
  uint64_t lost;                                     // samples, and sights of fields, that can have spoken against a field, and found no room
  uint64_t untold;                                   // samples that are in no row, as no look has learnt their types yet, or none will
  uint64_t longest_interval;                         // bytes that were allocated between two looks
  uint64_t nanoseconds;                              // that looks took, marking and deletion with them
};
// What is known now: into tables as large as those of heap/death_table.h. Any thread in preemptive mode.
void take_deaths(DeathRow* rows, DeathFieldRow* fields, DeathTotals* totals) noexcept;

}  // namespace freehold::heap
