// A process that forks. Its child has one thread, the one that forked, and memory that the kernel does not watch: userfaultfd is for the parent's.
#pragma once

#include <cstdint>

namespace freehold::heap {

// Around a fork, by the thread that forks, with a PromotionPause and a MaintenancePause: no background thread of the heap holds a lock that the child needs (the one that makes
// fresh memory ahead is not stopped as the program's threads are). They stay where they are in both processes, and both give them back.
void take_locks_for_fork() noexcept;
void give_back_locks_of_fork() noexcept;

// In the child: what is dead loses its access rights, as it would have without userfaultfd, so that stale references fault and do not read zeros; from now on that
// is how memory is protected. The background threads begin anew when somebody wakes them. No lock is taken. Where the kernel has no mappings left, the process ends.
// A child that only reads, and by the tables of blocks, needs no protection: dead memory of it may read as zeros. It needs no mapping either, of which thousands of scattered pages need many.
enum class ChildOfFork : uint8_t { kGoesOn, kOnlyReads };
void go_on_in_child(ChildOfFork child = ChildOfFork::kGoesOn) noexcept;

}  // namespace freehold::heap
