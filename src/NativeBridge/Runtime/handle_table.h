// The table of handles: which ids are in use, and where their objects are.
//
// The entry of an id: what has to be added to its handle without an offset for the address of its object minus the id's origin; 0, not in use.
// Whoever translates a freed handle so gets the handle itself, which is no address: the access faults, and the fault names the id.
#pragma once

#include <atomic>

#include "Platform/violation.h"
#include "abi.h"
#include "os.h"
#include "owned_lock.h"

namespace freehold::bridge {

class HandleTable {
 public:
  // Before any other call, once. False: the addresses are taken, or no memory.
  bool initialize() noexcept;

  // Takes up to `count` ids that are not in use: freed ones once kQuarantine others have been freed after them, or new ones. Returns how many;
  // 0: there are no more, or no memory. Thread-safe.
  size_t take(uint32_t* ids, size_t count) noexcept;
  // Gives back ids whose entries were set with set_freed. Thread-safe.
  void give_back(const uint32_t* ids, size_t count) noexcept;
  // Ids that were taken, and led to no object since: the next to be taken. Thread-safe.
  void give_back_unused(const uint32_t* ids, size_t count) noexcept;

  static uint64_t handle(uint32_t id, uint32_t origin) noexcept { return kHandleBit | uint64_t{id} << 32 | origin; }
  static uint32_t id_of(uint64_t handle) noexcept { return static_cast<uint32_t>(handle >> 32) & (kIdLimit - 1); }
  static uint32_t offset_of(uint64_t handle) noexcept { return static_cast<uint32_t>(handle); }
  // The offset of the object's first byte. `alignment`: of the handle, 16 to 64 KB.
  static uint32_t origin(uint32_t id, size_t alignment) noexcept {
    return static_cast<uint32_t>((kOriginFloor + (uint64_t{id} * 16 & (kOriginFloor - 1))) & ~(alignment - 1));
  }

  // Only while the object's owner, or nobody, runs: by an allocation before the handle is known, by a free, or with all threads stopped.
  static void set(uint32_t id, uintptr_t start, uint32_t origin) noexcept { entry(id).store(start - origin - handle(id, 0), std::memory_order_release); }
  static void change(uint32_t id, uint64_t distance) noexcept {
    entry(id).store(entry(id).load(std::memory_order_relaxed) + distance, std::memory_order_release);
  }
  static void set_freed(uint32_t id) noexcept { entry(id).store(0, std::memory_order_release); }
  // The address of the object minus its origin; with bit 63: the id is not in use.
  static uint64_t load(uint32_t id) noexcept { return entry(id).load(std::memory_order_acquire) + handle(id, 0); }
  static bool is_in_use(uint64_t loaded) noexcept { return (loaded & kHandleBit) == 0; }
  // Of any 64-bit value.
  static bool is_live(uint64_t handle) noexcept { return (handle & kHandleBit) != 0 && is_in_use(load(id_of(handle))); }
  bool is_freed(uint64_t handle) const noexcept { return (handle & kHandleBit) != 0 && !is_live(handle) && was_given_out(id_of(handle)); }
  bool was_given_out(uint32_t id) const noexcept { return id != 0 && id < frontier_.load(std::memory_order_relaxed); }
  // What compiled code does, also before the table is there.
  static uintptr_t translate(uint64_t handle) noexcept {
    return (handle & kHandleBit) != 0 ? load(id_of(handle)) + offset_of(handle) : static_cast<uintptr_t>(handle);
  }

  // Pins of a live id. kForever stays until the object is freed; kStopped is set while all threads are stopped. By any thread.
  static constexpr uint32_t kForever = 1u << 31, kStopped = 1u << 30;
  void pin(uint32_t id, uint32_t kind) noexcept { note(id).fetch_or(kind, std::memory_order_relaxed); }
  void unpin(uint32_t id, uint32_t kind) noexcept { note(id).fetch_and(~kind, std::memory_order_relaxed); }
  bool is_pinned(uint32_t id) const noexcept { return (note(id).load(std::memory_order_relaxed) & (kForever | kStopped)) != 0; }
  // Of an id that was just taken: no pins, and how many bytes its object was asked to have.
  void begin(uint32_t id, size_t size) noexcept { note(id).store(packed_size(size), std::memory_order_relaxed); }
  // The object has another size now, at the same place.
  void change_size(uint32_t id, size_t size) noexcept;
  // Of a live object, or a freed one whose id is not in the queue yet.
  size_t size_of(uint32_t id) const noexcept { return unpacked_size(note(id).load(std::memory_order_relaxed)); }
  // Of a freed object whose id is in the queue. 0: it is not, or kRemembered others were freed since.
  size_t size_of_queued(uint32_t id) noexcept;

  uint64_t ever_given_out() const noexcept { return frontier_.load(std::memory_order_relaxed) - 1; }
  void set_limit(uint64_t limit) noexcept { limit_ = limit; }  // for tests: ids below it only

  // With all threads stopped; the heap has so many objects. What is wrong, if anything is.
  freehold::os::Violation verify(size_t objects) const noexcept;

  // How many other ids are freed before an id is given out again. In debug mode it is kLongQuarantine.
  static constexpr size_t kQuarantine = 4096, kLongQuarantine = size_t{1} << 20;
  static constexpr size_t kRemembered = 8192;  // freed ids whose sizes are known
  // Before the first free.
  void set_quarantine(size_t ids) noexcept { quarantine_ = ids; }
  // Around fork.
  bool lock_unless_mine() noexcept { return lock_.lock_unless_mine(); }
  void unlock() noexcept { lock_.unlock(); }

 private:
  // A size takes the bits of a note that no pin has: as it is, or, when it is large, in pages.
  static constexpr uint32_t kLargeSize = 1u << 29, kSizeBits = (1u << 30) - 1;
  static uint32_t packed_size(size_t size) noexcept {
    return static_cast<uint32_t>(size < kLargeSize ? size : kLargeSize | (size + os::kPageSize - 1) / os::kPageSize);
  }
  static size_t unpacked_size(uint32_t note) noexcept {
    uint32_t size = note & kSizeBits;
    return (size & kLargeSize) == 0 ? size : size_t{size & ~kLargeSize} * os::kPageSize;
  }

  static std::atomic<uint64_t>& entry(uint32_t id) noexcept { return reinterpret_cast<std::atomic<uint64_t>*>(kTableAddress)[id]; }
  std::atomic<uint32_t>& note(uint32_t id) const noexcept { return notes_[id]; }

  OwnedLock lock_;
  // An id in use: its pins, and its object's size. One in the queue or in the list of unused ones: the id that comes next there.
  std::atomic<uint32_t>* notes_ = nullptr;
  std::atomic<uint64_t> frontier_{1};  // the lowest id that was never given out; 0 is none. Written under the lock
  uint64_t limit_ = kFirstReservedId;
  // The queue of freed ids, under the lock.
  uint32_t first_ = 0, last_ = 0;
  size_t waiting_ = 0, quarantine_ = kQuarantine;
  // The list of ids that were taken and not used, under the lock. No free of an object has brought them here, so they wait for none.
  uint32_t unused_ = 0;
  size_t unused_count_ = 0;
};

extern HandleTable table;

}  // namespace freehold::bridge
