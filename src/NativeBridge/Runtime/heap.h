// The heap of the defragmenter's service: memory of objects, in spans. Each thread keeps some free slots of each size class, so that most calls take no lock.
//
// A thread that calls these functions is inside (threads.h): nobody moves its objects meanwhile. Lock order: threads, heap, table.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "Platform/violation.h"
#include "group_chunks.h"
#include "handle_table.h"
#include "owned_lock.h"
#include "spans.h"

namespace freehold::bridge {

inline constexpr size_t kDefragmentAbove = size_t{16} << 20;  // bytes: a smaller heap needs no thread that watches it
inline constexpr uint32_t kMostLoose = 64;                    // slots of a class that a thread keeps

// What a thread keeps. Owner: the thread while it is inside, whoever has stopped the threads otherwise.
struct ThreadCache {
  struct Loose {
    uint32_t count;
    uint8_t* slots[kMostLoose];
  } loose[kClasses];
  GroupChunk* chunks[kMostGroups + 1];  // that the thread owns, by group; null: none yet
};

// In bytes, and counts, since the start unless it says otherwise.
struct HeapFigures {
  uint64_t live_objects, live_bytes;  // now; bytes of slots
  uint64_t resident_bytes;            // now: of spans that have not been given back
  uint64_t moved_objects, moved_bytes;
};

class Heap {
 public:
  // Once, before any other call. False: no address space.
  bool initialize() noexcept;

  // The callbacks of the service (include/service.h), but for the barrier.
  void* allocate(ThreadCache& cache, uint32_t id, size_t size, size_t* alignment, bool zeroed) noexcept;
  void* reallocate(void* start, size_t size) noexcept;
  bool free(ThreadCache& cache, uint32_t id, void* address) noexcept;
  size_t usable_size(void* address) noexcept;
  uint32_t find(void* address, void** start) noexcept;

  bool contains(const void* address) const noexcept { return spans_.contains(reinterpret_cast<uintptr_t>(address)); }
  // All that the thread keeps goes back.
  void empty(ThreadCache& cache) noexcept;

  // With all threads stopped. The free slots of a class that the cache keeps go back to their spans.
  void take_loose(ThreadCache& cache, uint32_t size_class) noexcept;
  // Moves the object that begins there, if it is not pinned, to another slot or span. False: pinned, or no room. `target`: null for any.
  bool move(uint32_t id, void* start, Span* target) noexcept;

  Spans& spans() noexcept { return spans_; }
  // Bytes of memory, at most. Any thread; a hint.
  uint64_t resident() const noexcept { return spans_.resident(); }
  uint32_t& partial(uint32_t size_class) noexcept { return partial_[size_class]; }
  // For stress: what an object leaves behind when it moves is overwritten.
  void overwrite_moved() noexcept { overwrite_ = true; }
  HeapFigures figures() noexcept;
  // Every invariant, with all threads stopped (verification.cpp). What is wrong and where, or null; the text is good until the next call.
  const char* verify() noexcept;

  bool try_lock() noexcept { return lock_.try_lock(); }
  void lock() noexcept { lock_.lock(); }
  void unlock() noexcept { lock_.unlock(); }
  bool lock_unless_mine() noexcept { return lock_.lock_unless_mine(); }
  // Of groups: bytes of chunks that no live object takes, but for those that threads allocate in. Caller holds the lock.
  uint64_t group_waste() noexcept;
  // With all threads stopped: moves objects of sparse chunks into few, until the time is up; a group's objects stay together, in their order. Chunks from `*next` on, which is 0
  // at the beginning of a round. True: there may be more to do, from the new `*next` on.
  bool compact_groups(uint64_t deadline, uint32_t* next) noexcept;

  // A slot of the span, which the caller has emptied or moved, is free again. Caller holds the lock.
  void release_slot(Span* span, uint8_t* slot) noexcept;

 private:
  freehold::os::Violation verify_cache(const ThreadCache& cache) noexcept;
  freehold::os::Violation verify_objects(size_t* count) noexcept;
  freehold::os::Violation verify_chunk(Span* span, size_t* count) noexcept;
  freehold::os::Violation verify_open_chunks() noexcept;
  freehold::os::Violation verify_all() noexcept;
  GroupChunk* chunk_of(Span* span) const noexcept { return reinterpret_cast<GroupChunk*>(spans_.start_of(span)); }
  void* allocate_grouped(ThreadCache& cache, uint32_t group, uint32_t id, size_t size) noexcept;
  GroupChunk* take_chunk(uint32_t group, bool may_wait) noexcept;
  void give_up_chunk(GroupChunk* chunk) noexcept;
  void free_grouped(Span* span, void* start, size_t size) noexcept;
  bool move_grouped(uint32_t id, uint8_t* start, Span* span) noexcept;
  // Of chunks that no thread owns; until `visit` is false.
  template <typename Visitor>
  void for_each_sparse_chunk(Visitor visit) noexcept;
  bool refill(ThreadCache& cache, uint32_t size_class) noexcept;
  void give_back(ThreadCache::Loose& loose, uint32_t keep) noexcept;
  void* allocate_large(uint32_t id, size_t size, size_t* alignment, bool zeroed) noexcept;

  OwnedLock lock_;
  Spans spans_;
  uint32_t partial_[kClasses] = {};            // spans with free slots
  uint32_t open_[kMostGroups + 1] = {};        // chunks with room that no thread owns
  GroupChunk* targets_[kMostGroups + 1] = {};  // where objects move to
  bool has_groups_ = false;
  uint64_t moved_objects_ = 0, moved_bytes_ = 0;
  bool overwrite_ = false;
};

extern Heap heap;

}  // namespace freehold::bridge
