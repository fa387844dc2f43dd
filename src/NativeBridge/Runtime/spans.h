// Where objects lie: one reserved range of units of 64 KB. A span is a run of units: one unit of equal slots for small objects, or as many as a
// large object needs. From an address inside an object to the object it is one look at the unit.
//
// A small span, in its own memory: a word for each slot, then the slots. The word of a used slot is the object's id; that of a free one is
// kFreeSlot with the number of the next free one, or kLoose when a thread keeps it in its cache. When the span is empty, all of it is given back.
//
// The heap's lock guards everything here except the words of used and loose slots, which belong to whoever owns the object or the cache, and the
// answers of span_at for an object that lives.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "Platform/violation.h"

namespace freehold::bridge {

inline constexpr size_t kUnit = 64 * 1024;
inline constexpr size_t kLargestSmall = 8 * 1024;
inline constexpr size_t kClasses = 32;  // 16, 32 … 128, then four for each doubling, to 8 KB

constexpr uint32_t size_of_class(uint32_t c) noexcept {
  if (c < 8) return (c + 1) * 16;
  uint32_t doubling = (c - 8) / 4, step = (c - 8) % 4;
  return (128u << doubling) + (32u << doubling) * (step + 1);
}
static_assert(size_of_class(kClasses - 1) == kLargestSmall);

// 1 <= size <= kLargestSmall.
constexpr uint32_t class_of_size(size_t size) noexcept {
  if (size <= 128) return static_cast<uint32_t>((size + 15) / 16 - 1);
  uint32_t doubling = 63 - static_cast<uint32_t>(__builtin_clzl(size - 1)) - 7;
  return 8 + doubling * 4 + static_cast<uint32_t>((size - 1 - (size_t{128} << doubling)) >> (5 + doubling));
}

// Of a class: from an address to its object it takes a multiplication, no division. Exact for all offsets in a unit: (size - 1) * kUnit < 2^32.
struct Shape {
  uint32_t size, slots, first_slot, reciprocal;
};
struct Shapes {
  Shape of[kClasses];
  constexpr Shapes() noexcept : of{} {
    for (uint32_t c = 0; c < kClasses; c++) {
      uint32_t size = size_of_class(c), slots = static_cast<uint32_t>((kUnit - 64) / (size + sizeof(uint32_t)));
      // Where the size is a power of two every slot is at a multiple of it.
      uint32_t alignment = size > 64 && (size & (size - 1)) == 0 ? size : 64, before = slots * static_cast<uint32_t>(sizeof(uint32_t));
      of[c] = {size, slots, (before + alignment - 1) & ~(alignment - 1), static_cast<uint32_t>(((uint64_t{1} << 32) + size - 1) / size)};
    }
  }
};
inline constexpr Shapes kShapes;

inline constexpr uint32_t kFreeSlot = 1u << 31, kLoose = kFreeSlot | 0xffff, kNoSlot = 0xfffe;

// kGroup: a chunk of a group (group_chunks.h), as many units as its 1 MB takes.
enum class SpanKind : uint8_t { kUnused, kFree, kSmall, kLarge, kInside, kGroup };

struct Span {
  SpanKind kind;
  uint8_t size_class;
  uint16_t live;       // small: slots that are not on the free list, loose ones included
  uint16_t free_slot;  // small: head of the free list
  uint16_t slots;
  uint32_t units;           // of the run; also at the last unit of a free run
  uint32_t id;              // large
  uint32_t previous, next;  // in the list it is in: partial spans of a class, or free runs. 0: none
  uint64_t size;            // large: bytes, of whole pages
  bool is_dirty;            // free: the memory has not been given back
};

class Spans {
 public:
  static constexpr size_t kDirtyUnits = 64;  // 4 MB that are free and have not been given back

  // False: no address space. `units`: how many to reserve.
  bool initialize(size_t units) noexcept;

  // Caller holds the heap's lock. Null: no memory.
  Span* make_small(uint32_t size_class) noexcept;
  Span* make_large(size_t size) noexcept;
  Span* make_group(size_t size) noexcept;
  // The memory of the span is given back, at once or when enough waits.
  void release(Span* span) noexcept;
  // Pops a free slot. The span has one.
  uint8_t* pop(Span* span) noexcept;
  // Puts a loose slot back. True: the span is now empty.
  bool push(Span* span, uint8_t* slot) noexcept;

  bool contains(uintptr_t address) const noexcept { return address - start_ < units_ * kUnit; }
  // The span that an address of a live object lies in.
  Span* span_at(uintptr_t address) noexcept {
    Span* span = &info_[(address - start_) / kUnit];
    return span->kind == SpanKind::kInside ? span - span->units : span;
  }
  uint8_t* start_of(const Span* span) const noexcept { return reinterpret_cast<uint8_t*>(start_ + static_cast<size_t>(span - info_) * kUnit); }
  static uint32_t slots_in(uint32_t size_class) noexcept { return kShapes.of[size_class].slots; }
  static uint32_t first_slot(uint32_t size_class) noexcept { return kShapes.of[size_class].first_slot; }  // bytes from the span's start
  std::atomic<uint32_t>& word(const Span* span, uint32_t slot) const noexcept { return reinterpret_cast<std::atomic<uint32_t>*>(start_of(span))[slot]; }
  uint8_t* slot(const Span* span, uint32_t index) const noexcept {
    return start_of(span) + first_slot(span->size_class) + size_t{index} * kShapes.of[span->size_class].size;
  }
  // Of an address at or behind the first slot.
  uint32_t index_of(const Span* span, uintptr_t address) const noexcept {
    const Shape& shape = kShapes.of[span->size_class];
    uint32_t offset = static_cast<uint32_t>(address - reinterpret_cast<uintptr_t>(start_of(span))) - shape.first_slot;
    return static_cast<uint32_t>(uint64_t{offset} * shape.reciprocal >> 32);
  }

  // Lists of spans: heads are numbers of units, 0 is none (unit 0 is never used).
  uint32_t number_of(const Span* span) const noexcept { return static_cast<uint32_t>(span - info_); }
  Span* numbered(uint32_t number) noexcept { return &info_[number]; }
  void link(uint32_t& head, Span* span) noexcept;
  void unlink(uint32_t& head, Span* span) noexcept;

  size_t frontier() const noexcept { return frontier_; }  // units ever used, from the start
  // Bytes, at most. Without the lock a hint.
  size_t resident() const noexcept { return used_bytes_.load(std::memory_order_relaxed) + dirty_units_.load(std::memory_order_relaxed) * kUnit; }
  size_t used() const noexcept { return used_bytes_.load(std::memory_order_relaxed); }  // bytes of spans that hold objects
  size_t live() const noexcept { return live_bytes_; }                                  // bytes of objects, loose slots included, and of chunks of groups
  // Gives memory back of free runs that have not, until `keep` units are left or `most` are done. True: there may be more to do.
  bool give_back_dirty(size_t keep, size_t most) noexcept;
  // Caller holds the heap's lock. What is wrong, if anything is. `partial`: the heads of the lists of spans with room.
  freehold::os::Violation verify(const uint32_t (&partial)[kClasses]) const noexcept;
  // While it is set, what becomes free is not given back.
  void keep_dirty(bool keep) noexcept { keeps_dirty_ = keep; }

 private:
  freehold::os::Violation verify_slots(const Span* span) const noexcept;
  freehold::os::Violation verify_free(size_t free_runs) const noexcept;
  Span* take(uint32_t units) noexcept;
  uint32_t& free_list(uint32_t units) noexcept { return free_[units < kFreeLists ? units : 0]; }

  static constexpr size_t kFreeLists = 64;
  uintptr_t start_ = 0;
  size_t units_ = 0;
  Span* info_ = nullptr;
  size_t frontier_ = 1;
  std::atomic<size_t> used_bytes_{0}, dirty_units_{0};
  size_t live_bytes_ = 0;
  bool keeps_dirty_ = false;
  uint32_t free_[kFreeLists] = {};  // runs of so many units; 0: longer ones
};

}  // namespace freehold::bridge
