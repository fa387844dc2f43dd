// Memory that waits for its next use, and what its moves leave behind: pooled frames, prefaulted blocks, empty mappings. What is too much of it goes back.
#pragma once

#include <cstddef>
#include <cstdint>

namespace freehold::heap {

// Whether the limit forbids `more` bytes. Memory that waits for somebody does not count. Caller holds block_lock.
bool lacks_room(size_t more) noexcept;
// Makes addresses usable. Where the kernel refuses, the usual reason is too many mappings: those that nothing needs go first. No locks.
bool commit_somehow(uint8_t* start, size_t size) noexcept;

// Prefaulting: a block gets its memory, and waits for acquire_block(). False: `at_most` wait already, or there is no room for it. One thread at a time.
bool prefault_block(size_t at_most) noexcept;
// In the child of a fork: a block that the prefaulting thread was making ready is in no list, and nobody will finish it. Nor one that a thread has just taken.
void recount_prefaulted() noexcept;
// Gives back what waits.
void drop_prefaulted() noexcept;
void drop_prefaulted_in_child() noexcept;  // of a fork, which holds block_lock, or is alone

// Gives pooled blocks back to the system, until `keep` are left or so many have gone. Returns how many went.
size_t trim_pool(size_t keep, size_t at_most = SIZE_MAX) noexcept;
// How many are left without those that nobody needed during the last calls, which are a tick of maintenance apart. SIZE_MAX: all were needed.
size_t pool_without_surplus() noexcept;
// Replaces the empty mappings that moved blocks left behind by reserved space, until `keep` are left or it has made so many calls; adjacent ones become one mapping. Whether there are more.
bool collapse_moved(size_t keep, size_t calls_at_most = SIZE_MAX) noexcept;

}  // namespace freehold::heap
