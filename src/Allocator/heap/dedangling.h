// De-dangling (Kedia et al., section 4): a remap that makes every name in the process current, so that the names of before can be forgotten.
//
// Promotion leaves old names behind: in fields that its walk missed, on stacks, in handles, in thread statics. While one of them may be left, its
// block's remap table must stay, and each first use costs a fault. A remap ends both, beside running threads:
//
//   1. From now on write barriers store current names only (set_remapping). One stop of the threads, without work, so that none is inside a barrier
//      that has not seen it.
//   2. A walk over all objects that can be read, deleted ones too, makes their fields current by compare-and-swap. What threads read before the walk came
//      by may be old, but it cannot get back into the heap.
//   3. One stop in which stacks, thread statics and handles are made current. Then no old name is left: the tables go, and their blocks are dead.
//
// A name read out of a deleted object whose header has no memory any more stays old: its use throws.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace freehold::heap {

struct RemapCounters {
  std::atomic<uint64_t> remaps, abandoned;  // abandoned: something could not be looked at; the tables stay until the next one
  std::atomic<uint64_t> fields, roots;      // made current
  std::atomic<uint64_t> tables;             // bytes of remap tables that went
  std::atomic<uint64_t> longest_stop;       // nanoseconds
};
extern RemapCounters remap_counters;

// What the layer above does for a remap. `stop` stops the threads, calls patch(slot) for each place outside the heap that may hold a name if `patch` is
// not null, then stopped(argument), and lets them run; false: there is nothing to stop yet. `for_each_frozen` calls fn(first, end) for
// each piece of memory with objects that are not in the arena; `first` is the address of one, not of its header.
struct RemapSupport {
  bool (*stop)(void (*patch)(uint64_t* slot), void (*stopped)(void* argument), void* argument);
  void (*for_each_frozen)(void (*fn)(uint8_t* first, uint8_t* end, void* argument), void* argument);
  // Calls work(argument) where the calling thread, which allocates, may be stopped by others.
  void (*call_where_threads_stop)(void (*work)(void* argument), void* argument);
};
void set_remap_support(const RemapSupport* support) noexcept;
// The same; false, and nothing is called, without support. The caller holds no lock, nor an object's address.
bool call_where_threads_stop(void (*work)(void* argument), void* argument) noexcept;

// One remap. `scan_addresses`: it also finds the addresses that nothing names any more (heap/addresses.h). The caller holds no lock that a managed thread may want,
// and the lock of promotion. True: it was complete, all tables went.
bool remap(bool scan_addresses) noexcept;
// Whether tables, mappings or faults have become so many, or unused addresses so few, that a remap is worth its time.
bool should_remap() noexcept;

}  // namespace freehold::heap

extern "C" {
// A block move has copied references to [destination, destination + size): marks their cards and, during a remap, makes them current, or while marking shades them. On the thread that moved, before its next safe point.
[[gnu::visibility("hidden")]] void freehold_after_move(uint8_t* destination, const uint8_t* source, size_t size) noexcept;
}
