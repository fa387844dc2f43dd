// A marker: scans what is marked, and marks what that leads to, beside the threads or while they are stopped (docs/internals/reclaim.md). Several share their work (heap/marking_team.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/object.h"
#include "heap/bounded_stack.h"
#include "heap/mark_packets.h"
#include "heap/marking_bounds.h"
#include "heap/walk.h"

namespace freehold::heap {

class Marker {
 public:
  explicit Marker(MarkPackets& packets) noexcept;

  // What a root or a field refers to; it may lie within the object if `interior`. True: it was not marked before, and is to be scanned.
  bool mark(uintptr_t address, bool interior = false) noexcept;
  // What is marked already.
  void push(uintptr_t address) noexcept;
  void scan(const core::Object* object, const core::MethodTable* type, size_t size) noexcept;
  // Scans what it has, and what that leads to, until it has nothing, though perhaps others; or until scanned() is more than that, then false. `shares`: with markers that have nothing.
  bool work(uint64_t until, bool shares) noexcept;
  uint64_t scanned() const noexcept { return scanned_; }

 private:
  struct Rest {  // of an array
    const core::Object* object;
    size_t next;  // words behind the object's start
  };
  static constexpr size_t kAhead = 16;
  static_assert((MarkingBounds::kStack & (MarkingBounds::kStack - 1)) == 0);

  uintptr_t pop() noexcept { return stack_[(oldest_ + --count_) % MarkingBounds::kStack]; }
  bool give_oldest() noexcept;
  void forget() noexcept;
  void note_found(const core::Object* object, const Walked& walked) noexcept;
  void add_found() noexcept;
  void scan_object(const core::Object* object) noexcept;
  void scan_part(const core::Object* object, const core::MethodTable* type, size_t size, uint64_t* begin, uint64_t* end) noexcept;
  bool scan_rest() noexcept;
  void mark_soon(uintptr_t address) noexcept;
  uintptr_t take_first() noexcept;

  MarkPackets& packets_;
  // The newest is scanned first, the oldest go to others: they lead to more.
  uintptr_t stack_[MarkingBounds::kStack];
  size_t oldest_ = 0, count_ = 0;
  BoundedStack<Rest> rests_;
  // A ring of what mark_soon() was given.
  uintptr_t ahead_[kAhead] = {};
  size_t first_ = 0, coming_ = 0;
  uint64_t scanned_ = 0;
  // Bytes of found objects that shading.found does not have yet: neighbours mostly lie in one block.
  size_t found_block_ = 0;
  uint32_t found_bytes_ = 0;
};

}  // namespace freehold::heap
