// The ends of huge objects. Their memory goes at the deletion; but where there is much of it, the kernel takes long, and a deletion is in cooperative mode: a stop of the threads would wait. Such an object is
// put on a list first, and whoever may be stopped takes it from there: the caller of the deletion, or else maintenance.
#pragma once

#include <cstddef>

namespace freehold::heap {

// Bytes whose end may be waited for: some milliseconds.
inline constexpr size_t kEndsAtOnce = size_t{32} << 20;

// A dead huge object that nothing pins, by its first block, which is kPooled. False: it was put on the list.
bool end_huge(size_t block) noexcept;
// Whether there is one whose memory is still to go. A hint.
bool has_listed_huge() noexcept;
// Ends those on the list. Preemptive mode, without locks. When it returns, all that were on the list when it was called have ended, whichever thread has done it.
void end_listed_huge() noexcept;
// The same, unless another thread does it: that may take long, and the caller has other work. What comes behind that thread's is for the next call.
void end_listed_huge_unless_busy() noexcept;
// In the child of a fork: who was at it is not here.
void forget_ending_threads() noexcept;

}  // namespace freehold::heap
