// Deletion of arrays that a collection of the framework has outgrown. Nothing in the heap leads to one, so only stacks decide: a thread that reads the collection meanwhile, or a
// span, may still use it. Kedia et al. (PLDI 2017) delete them at once; that is right only where no other thread reads.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace freehold::heap {

struct OutgrownCounters {
  std::atomic<uint64_t> stops, arrays, bytes;  // arrays and bytes: deleted
  std::atomic<uint64_t> longest_stop;          // nanoseconds
};
extern OutgrownCounters outgrown_counters;

// As System.Heap/OutgrownArrays.cs has it.
struct OutgrownArrays {
  uint64_t bytes;       // that are noted; afterwards, of what a stack still leads to
  uint64_t next_bytes;  // how many are to be noted before the next call
};

// Where stacks are deep, or threads are many and have no processor, a stop is dear: these stops take a 64th of the time at most. Both in nanoseconds: the last stop, and since its end.
bool is_stop_cheap(uint64_t took, uint64_t since) noexcept;
// ...as long as what is noted is not much beside what lives. Both in bytes.
bool can_wait(uint64_t noted, uint64_t live) noexcept;

// Of the first `count` elements of the object[] at *list, deletes what no stack nor thread static leads to, and clears its element, as it clears those that are gone.
// `list` is a place that moves keep current. The threads stand meanwhile. False: compaction is at work, stops are dear, there is no memory for the list, or nothing to stop yet; nothing has happened.
// `at_any_price`: a round of compaction is waited for, and a dear stop made. Any thread in preemptive mode that holds no lock.
bool delete_outgrown(const uint64_t* list, size_t count, bool at_any_price, OutgrownArrays* result) noexcept;

}  // namespace freehold::heap
