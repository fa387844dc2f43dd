// Allocation of objects behind handles. Each thread keeps some free slots of each size class and some ids, so that most calls take no lock.
//
// A thread that calls these functions is inside (threads.h): nobody moves its objects meanwhile. Lock order: threads, heap, table.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "handle_table.h"
#include "spans.h"

namespace freehold::bridge {

inline constexpr uint32_t kMostLoose = 64;  // slots of a class that a thread keeps
inline constexpr uint32_t kMostIds = 64;

// What a thread keeps. Owner: the thread while it is inside, whoever has stopped the threads otherwise.
struct ThreadCache {
  struct Loose {
    uint32_t count;
    uint8_t* slots[kMostLoose];
  } loose[kClasses];
  uint32_t id_count, freed_count;
  uint32_t ids[kMostIds];
  uint32_t freed[kMostIds];
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

  // A handle; null: no memory. An object that can have none (more than kLargestObject, no id left) is plain memory. `alignment`: a power of two.
  void* allocate(ThreadCache& cache, size_t size, size_t alignment, bool zeroed) noexcept;
  // Of a handle, or of the address of an object. Reports an object that is already freed, and a pointer into one.
  void free(ThreadCache& cache, void* pointer) noexcept;
  void* reallocate(ThreadCache& cache, void* pointer, size_t size) noexcept;
  size_t usable_size(void* pointer) noexcept;

  bool contains(const void* address) const noexcept { return spans_.contains(reinterpret_cast<uintptr_t>(address)); }
  // From an address inside a live object of this heap to the handle that means the same byte; other values as they are.
  void* handle_at(void* address) noexcept;
  // An address outside of all objects could be the end of one.
  bool may_be_end(uintptr_t address) const noexcept { return spans_.contains(address - 1); }
  // The address of the first byte of a live handle's object. The handle's own byte is in it, or one past its end.
  uintptr_t start_of(uint64_t handle) noexcept;
  // All that the thread keeps goes back.
  void empty(ThreadCache& cache) noexcept;

  // With all threads stopped. The free slots of a class that the cache keeps go back to their spans.
  void take_loose(ThreadCache& cache, uint32_t size_class) noexcept;
  // Moves an object that is not pinned to another slot or span. False: pinned, freed, or no room. `target`: null for any.
  bool move(uint32_t id, Span* target) noexcept;

  Spans& spans() noexcept { return spans_; }
  uint32_t& partial(uint32_t size_class) noexcept { return partial_[size_class]; }
  // For stress: what an object leaves behind when it moves is overwritten.
  void overwrite_moved() noexcept { overwrite_ = true; }
  HeapFigures figures() noexcept;
  // Every invariant, with all threads stopped. What is wrong, or null.
  const char* verify() noexcept;

  bool try_lock() noexcept { return lock_.try_lock(); }
  void lock() noexcept { lock_.lock(); }
  void unlock() noexcept { lock_.unlock(); }
  // A slot of the span, which the caller has emptied or moved, is free again. Caller holds the lock.
  void release_slot(Span* span, uint8_t* slot) noexcept;

 private:
  Span* find(uint32_t id, uint64_t entry, uint32_t& origin) noexcept;
  bool refill(ThreadCache& cache, uint32_t size_class) noexcept;
  void give_back(ThreadCache::Loose& loose, uint32_t keep) noexcept;
  uint32_t take_id(ThreadCache& cache) noexcept;
  void* allocate_large(ThreadCache& cache, size_t size, size_t alignment, bool zeroed) noexcept;
  void free_object(ThreadCache& cache, uint32_t id, uint8_t* start) noexcept;
  void free_id(ThreadCache& cache, uint32_t id) noexcept;

  os::Lock lock_;
  Spans spans_;
  uint32_t partial_[kClasses] = {};  // spans with free slots
  uint64_t moved_objects_ = 0, moved_bytes_ = 0;
  bool overwrite_ = false;
};

extern Heap heap;

}  // namespace freehold::bridge
