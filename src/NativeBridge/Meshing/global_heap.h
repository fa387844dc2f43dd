// All spans, whoever allocates from them. Threads come here when a shuffle vector is empty or full, and to free what another thread allocated.
//
// Lock order: the mesher's, a class's, then the arena's or LargeObjects'. No lock is held while object memory is written or a thread could wait for another
// one, except that the mesher holds a class's lock while it copies.
#pragma once

#include <atomic>
#include <cstdint>

#include "large_objects.h"
#include "meshable_arena.h"
#include "mini_heap.h"
#include "shuffle_vector.h"
#include "thread_local_heap.h"
#include "write_barrier.h"

namespace freehold::mesh {

// What the spans of one class hold, counted by a walk.
struct ClassFigures {
  uint64_t spans, aliases, slots, free_slots, partial_spans;
};

class GlobalHeap {
 public:
  static constexpr uint32_t kBins = 4;  // partial spans by their free share: the fullest are used first

  bool open(MeshableArena& arena, LargeObjects& large) noexcept;
  void close() noexcept;

  // Fills an empty shuffle vector. False: no memory.
  bool refill(ThreadLocalHeap& heap, uint32_t size_class) noexcept;
  // Gives slots back to their spans: those of this class that came first, `count` of them.
  void flush(ThreadLocalHeap& heap, uint32_t size_class, uint32_t count) noexcept;
  // Gives what the thread freed of other threads' objects of this class to their spans.
  void flush_remote(ThreadLocalHeap& heap, uint32_t size_class) noexcept;
  // Frees a slot by its span. Ends the process when it is free already or no slot begins there.
  void free(void* object, PageWord word) noexcept;
  // The MiniHeap of a live object, and its slot.
  uint32_t slot_of(const MiniHeap& mini_heap, const void* object) const noexcept;

  // The threads' heaps. Null: no memory, or too many threads.
  ThreadLocalHeap* take_heap(uint64_t seed) noexcept;
  // With all its vectors flushed.
  void give_heap_back(ThreadLocalHeap* heap) noexcept;
  ThreadLocalHeap* const* heaps() const noexcept { return heaps_; }
  uint32_t heap_count() const noexcept { return heap_count_.load(std::memory_order_acquire); }

  MiniHeap& operator[](MiniHeapId id) const noexcept { return mini_heaps_[id]; }
  MiniHeapId mini_heap_end() const noexcept { return mini_heap_end_.load(std::memory_order_acquire); }
  MiniHeapId id_of(const MiniHeap& mini_heap) const noexcept { return static_cast<MiniHeapId>(&mini_heap - mini_heaps_); }
  MeshableArena& arena() const noexcept { return *arena_; }

  os::Lock& lock_of(uint32_t size_class) noexcept { return locks_[size_class]; }
  // With the class's lock: what is free in the leader and all its members.
  Bits free_of(const MiniHeap& leader) const noexcept;
  // With the class's lock. After bits of the span or its members were set or cleared: releases what is empty, puts the leader into its bin.
  void settle(MiniHeap& mini_heap) noexcept;
  // With the class's lock.
  void take_from_bin(MiniHeap& leader) noexcept;
  // With the class's lock. Who frees does not move a partial span to another bin; this does, for all.
  void put_in_order(uint32_t size_class) noexcept;
  MiniHeapId first_of_bin(uint32_t size_class, uint32_t bin) const noexcept { return bins_[size_class][bin]; }
  uint32_t partial_spans(uint32_t size_class) const noexcept { return partial_[size_class].load(std::memory_order_relaxed); }
  // Pages of slots of spans that do not mesh go back: of those that were free when this was last called, too, or of all that are free.
  void discard_free_slots(uint32_t size_class, bool all) noexcept;
  void lock_everything() noexcept;
  // As lock_everything(), but gives up at that time (nanoseconds).
  bool try_lock_everything(uint64_t end) noexcept;
  void unlock_everything() noexcept;

  // A walk, class by class: of a moment for each class.
  ClassFigures figures_of(uint32_t size_class) noexcept;
  uint64_t cached_slots(uint32_t size_class) const noexcept;  // in shuffle vectors; counted while their threads run
  // With all locks: all MiniHeaps, their bins and chains, the threads' heaps, and the vectors of `own`, the calling thread's. What is wrong, if anything is.
  Violation verify(const ThreadLocalHeap& own, SpanSums* found) const noexcept;
  // With all locks: no thread is in the middle of making a span, so that sums can be compared with counts.
  bool is_settled() const noexcept;

  std::atomic<int64_t> saved_pages{0};  // of spans that have none of their own

 private:
  MiniHeapId make_span(uint32_t size_class, uint32_t owner, bool* used) noexcept;
  void release_span(MiniHeap& mini_heap) noexcept;
  void release_member(MiniHeap& leader, MiniHeap& member) noexcept;
  uint32_t take_slots(MiniHeap& leader, ThreadLocalHeap& heap) noexcept;
  void list(MiniHeap& leader, uint32_t free_slots) noexcept;
  void set_owner(const MiniHeap& mini_heap, uint32_t owner) noexcept;
  void note_freed(MiniHeap& mini_heap) noexcept;
  MiniHeapId take_id() noexcept;
  // Behind a thread's heap: what its vectors have their entries in, one after the other.
  static void** storage_of(const ThreadLocalHeap& heap) noexcept;
  Violation verify_span(MiniHeapId id) const noexcept;
  Violation verify_leader(MiniHeapId id) const noexcept;
  Violation verify_chain(MiniHeapId id) const noexcept;
  Violation verify_bins(uint32_t size_class, uint32_t partial) const noexcept;
  Violation verify_pages() const noexcept;
  Violation verify_heaps(const ThreadLocalHeap& own) const noexcept;
  Violation verify_vector(const ThreadLocalHeap& heap, const ShuffleVector& vector, uint32_t size_class) const noexcept;

  MeshableArena* arena_ = nullptr;
  LargeObjects* large_ = nullptr;
  MiniHeap* mini_heaps_ = nullptr;  // never unmapped, so that who freed last may still look
  std::atomic<MiniHeapId> mini_heap_end_{1};
  MiniHeapId mini_heap_limit_ = 0, unused_ = 0;  // ids_lock_
  os::Lock ids_lock_;                            // innermost
  os::Lock locks_[kClasses];                     // of a class's bins, and its spans as mini_heap.h says
  MiniHeapId bins_[kClasses][kBins] = {};
  std::atomic<uint32_t> partial_[kClasses] = {};
  os::Lock heaps_lock_;
  ThreadLocalHeap** heaps_ = nullptr;
  std::atomic<uint32_t> heap_count_{0};
  ThreadLocalHeap* unused_heaps_ = nullptr;
};

}  // namespace freehold::mesh
