// What the program wants to be told of: that memory is short (Heap.MemoryPressure), and, with FREEHOLD_RECLAIM=report, that the heap has grown, so that it looks for leaks (Heap.LeaksFound); and of events of the trace.
// Handlers run on a thread of the managed half, which waits here: they may allocate, throw and block, and the heap waits for none of them. While nobody listens it costs a comparison.
#pragma once

#include <cstdint>

namespace freehold::heap {

enum Notice : uint32_t { kPressure = 1, kGrowth = 2, kTrace = 4, kDeaths = 8 };

// System.Notice has the same layout.
struct NoticeGiven {
  uint64_t notices;         // of enum Notice, one at least
  uint64_t footprint;       // bytes of the managed heap that are in use or fragmented
  uint64_t live, limit;     // bytes of objects; how far the footprint may go
  uint64_t native;          // bytes of the meshing malloc; 0 without it
  uint64_t process_memory;  // of the machine, or of the container
};
static_assert(sizeof(NoticeGiven) == 48);

// From now on, of what the bits say. Any thread. `process_memory`: what all of the process may take.
void listen(uint32_t notices) noexcept;
void set_process_memory(uint64_t bytes) noexcept;
// False: there is none.
bool take_notice(NoticeGiven* given) noexcept;
// Until there is one. One thread, in preemptive mode.
void wait_for_notice(NoticeGiven* given) noexcept;

// Whether give_notice() would find something. Any thread; hints.
bool is_notice_due() noexcept;
// Memory is short: the footprint is beyond 7/8 of the limit while more than half of the limit lives, or with what native code has taken beyond 7/8 of what the process may take. Told of once, and again when it was below 3/4.
void give_notice() noexcept;
// An allocation fails: whatever the footprint is, and again a second later. Any thread.
void note_limit_reached() noexcept;
// There are events to take (heap/trace.h). Any thread.
void give_trace_notice() noexcept;
// The file of deaths is to be written anew (heap/death_look.h). Any thread.
void give_deaths_notice() noexcept;

}  // namespace freehold::heap
