// When what no root reaches is deleted by itself (heap/reachability.h).
#pragma once

#include <cstdint>

namespace freehold::heap {

// FREEHOLD_RECLAIM_GROWTH: whether what lives has grown by so much since reclaim() was last called, and by 16 MB.
bool should_reclaim() noexcept;
// reclaim() was called: so many bytes live. Any thread.
void note_reclaim(uint64_t live) noexcept;

}  // namespace freehold::heap
