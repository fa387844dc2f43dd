// When the heap promotes, and how much of it a round wants (heap/promotion.h does it).
#pragma once

#include <cstddef>
#include <cstdint>

namespace freehold::heap {

// What a heap may hold beyond its share of garbage: the blocks that its threads fill, and those that they are about to empty.
inline constexpr size_t kSlack = size_t{16} << 20;

// Fragmentation f = (deleted - released) / (allocated - deleted) is above 3/8, 16 MB aside, and enough was deleted since the last round.
bool should_promote() noexcept;
// The first of these: memory is to come from sparse blocks, not from the system.
bool is_heap_fragmented() noexcept;
// No round is due, and the heap is below 32 MB: what quiet blocks have in dead pages is better released page by page.
bool is_too_small_to_promote() noexcept;

// Short rounds leave old blocks as they are: whether what these hold has become too much, and a walk over the whole heap is worth it.
bool are_old_blocks_due() noexcept;

// Whether the last round of kFragmented found as many sparse blocks as it wanted, by what the pages' counters say. A hint.
bool had_enough_candidates() noexcept;

// Whether the footprint is so much for what lives that memory is to come from sparse blocks.
bool is_fragmented(uint64_t live, uint64_t footprint) noexcept;
// Whether promotion is behind: it began when the heap was a little smaller.
bool is_over_budget() noexcept;
// Whether it is so far behind that memory which is there already is to be used slowly, too.
bool is_far_over_budget() noexcept;
// Bytes that a round is to win, so that the heap holds no more than it should.
size_t bytes_to_win() noexcept;

// Told by the promoting thread. A round begins; it has found enough sparse blocks or not; it was a short one, and walked so many marked pages.
void note_round() noexcept;
void note_candidates(bool suffice) noexcept;
void note_walk(bool is_short, uint64_t cards) noexcept;
// Cards that the last round walked. The promoting thread only.
uint64_t cards_of_last_round() noexcept;

}  // namespace freehold::heap
