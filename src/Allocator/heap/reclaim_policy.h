// When what no root reaches is deleted by itself (heap/reachability.h).
#pragma once

#include <cstdint>

namespace freehold::heap {

// FREEHOLD_RECLAIM=auto: whether what lives has grown by FREEHOLD_RECLAIM_GROWTH since reclaim() was last called, and by 32 MB; near the limit, by a sixteenth of that. More is asked after a
// reclaim that has deleted less than an eighth of what had grown, until one deletes more.
bool should_reclaim() noexcept;
// reclaim() begins; it has ended: so many bytes live, and so many it has deleted, if it could mark. Any thread.
void note_reclaim_begins() noexcept;
void note_reclaim(uint64_t live, uint64_t deleted, bool marked) noexcept;

// In the child of a fork, where no thread is.
void forget_running_reclaims() noexcept;

// Whether a thread is in reclaim().
bool is_reclaiming() noexcept;
// And whether what lives has grown by half as much again as it began for: allocation outruns marking.
bool is_reclaim_behind() noexcept;
// Four times as much: the marking has no processor, or far too little of one.
bool is_reclaim_far_behind() noexcept;

}  // namespace freehold::heap
