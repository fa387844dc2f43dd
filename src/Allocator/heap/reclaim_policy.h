// When what no root reaches is deleted by itself (heap/reachability.h).
#pragma once

#include <cstdint>

#include "heap/reclaim_scope.h"
#include "heap/young_policy.h"

namespace freehold::heap {

// FREEHOLD_RECLAIM=auto: of all objects, if what lives has grown by FREEHOLD_RECLAIM_GROWTH since they were last looked through, and by 32 MB; near the limit, by a sixteenth of that. More is
// asked after a reclaim that has deleted less than an eighth of what had grown, until one deletes more. In between, of young ones.
ReclaimDue reclaim_due() noexcept;
inline bool should_reclaim() noexcept { return reclaim_due() != ReclaimDue::kNothing; }
// reclaim() begins; it has ended. Any thread.
void note_reclaim_begins() noexcept;
void note_reclaim(const Reclaimed& reclaimed) noexcept;

// One is due, and nobody makes it: for who would make it, and has put something else in front.
bool is_reclaim_waiting() noexcept;
// How many note_reclaim() was told of, of young objects too.
uint64_t noted_reclaims() noexcept;

// In the child of a fork, where no thread is.
void forget_running_reclaims() noexcept;

// Whether a thread is in reclaim().
bool is_reclaiming() noexcept;
// And whether what lives has grown by half as much again as it began for: allocation outruns marking.
bool is_reclaim_behind() noexcept;
// Four times as much: the marking has no processor, or far too little of one.
bool is_reclaim_far_behind() noexcept;

}  // namespace freehold::heap
