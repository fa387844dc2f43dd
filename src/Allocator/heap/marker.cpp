#include "heap/marker.h"

#include <algorithm>
#include <optional>

#include "core/arena.h"
#include "core/fault_recovery.h"
#include "core/references.h"
#include "heap/forwarding.h"
#include "heap/marked_blocks.h"
#include "heap/phases.h"
#include "heap/shading.h"
#include "heap/walk.h"

namespace freehold::heap {

using core::arena;
using core::MethodTable;
using core::Object;

namespace {

// Objects of more bytes are scanned in parts, so that what they lead to does not fill the stack.
constexpr size_t kPart = size_t{32} << 10;
constexpr size_t kStep = size_t{1} << 16;

}  // namespace

Marker::Marker() noexcept : stack_(kStack, kStep), rests_(kRests, kStep) {}

bool Marker::mark(uintptr_t address, bool interior) noexcept {
  if (!arena.contains(address)) return false;
  address = current_address(address);
  // One past the end of an object is still its: no reference leads to a header.
  if (interior) address = reinterpret_cast<uintptr_t>(find_object(address - 1));
  if (address == 0 || !try_mark(address)) return false;
  push(address);
  return true;
}

void Marker::push(uintptr_t address) noexcept {
  if (!stack_.push(address)) note_overflow(address);
}

void Marker::scan(const Object* object, const MethodTable* type, size_t size) noexcept {
  core::for_each_reference(object, type, size, [this](uint64_t* slot) noexcept {
    uint64_t value;
    if (core::try_load(slot, &value) && arena.contains(value)) mark_soon(value);
  });
}

// Not what the program has deleted: the block's accounts have it already.
void Marker::note_found(const Object* object, const Walked& walked) noexcept {
  auto address = reinterpret_cast<uintptr_t>(object);
  if ((walked.header & core::kDeletedBit) == 0 && walked.size <= core::kLargeObject && arena.in_lower_half(address))
    shading.found[arena.block_index(address)] += static_cast<uint32_t>(walked.size);
}

void Marker::scan_object(const Object* object) noexcept {
  scanned_++;
  Walked walked = look_at(reinterpret_cast<const uint8_t*>(object) - core::kHeaderSize);
  if (walked.step != Step::kObject) return;
  note_found(object, walked);
  if (!walked.type->has_pointers()) return;
  if (walked.size > kPart && rests_.push({object, 0})) return;
  scan(object, walked.type, walked.size);
}

// The next part of the array that was met last.
bool Marker::scan_rest() noexcept {
  if (rests_.is_empty()) return false;
  scanned_ += kPart / 64;
  Rest& rest = rests_.top();
  const Object* object = rest.object;
  Walked walked = look_at(reinterpret_cast<const uint8_t*>(object) - core::kHeaderSize);
  size_t next = rest.next, words = walked.size / sizeof(uint64_t);
  rest.next += kPart / sizeof(uint64_t);
  if (walked.step != Step::kObject || rest.next >= words) rests_.pop();
  if (walked.step != Step::kObject) return true;
  auto* begin = reinterpret_cast<uint64_t*>(const_cast<Object*>(object)) + next;
  core::for_each_reference_between(object, walked.type, walked.size, begin, begin + kPart / sizeof(uint64_t), [this](uint64_t* slot) noexcept {
    uint64_t value;
    if (core::try_load(slot, &value) && arena.contains(value)) mark_soon(value);
  });
  return true;
}

// When some others have been found, and what it leads to has come from memory (Cher, Hosking and Vitek, Software Prefetching for Mark-Sweep Garbage
// Collection, ASPLOS 2004).
void Marker::mark_soon(uintptr_t address) noexcept {
  if (coming_ == kAhead) mark(take_first());
  // Most objects are smaller than a cache line and many lie in two.
  constexpr size_t kFields = 40;
  __builtin_prefetch(reinterpret_cast<const void*>(address));
  __builtin_prefetch(reinterpret_cast<const void*>(address + kFields));
  __builtin_prefetch(reinterpret_cast<const void*>(shading.marks + shades::unit_of(address) / 64), 1);
  ahead_[(first_ + coming_++) % kAhead] = address;
}

uintptr_t Marker::take_first() noexcept {
  uintptr_t address = ahead_[first_];
  first_ = (first_ + 1) % kAhead;
  coming_--;
  return address;
}

bool Marker::take_shaded() noexcept {
  if (taken_ >= std::min(shading.queued.load(std::memory_order_acquire), Shading::kQueue)) return false;
  uint64_t address = shading.queue[taken_].load(std::memory_order_acquire);
  if (address == 0) return false;  // the thread that has the place is about to store
  shading.queue[taken_++].store(0, std::memory_order_relaxed);
  push(address);
  return true;
}

// All marked objects of such a block, some of them once more.
bool Marker::scan_overflowed(bool stopped) noexcept {
  if (!shading.any_overflowed.exchange(false, std::memory_order_acq_rel)) return false;
  auto scan_marked = [this](uint8_t* start, const Walked& walked) noexcept {
    Object* object = Object::at(start);
    if (walked.step == Step::kObject && walked.type->has_pointers() && is_marked(reinterpret_cast<uintptr_t>(object))) {
      scanned_++;
      scan(object, walked.type, walked.size);
    }
  };
  for_each_overflowed_block([&](size_t block) noexcept {
    // What lies behind a page that goes away during the walk would be left out.
    std::optional<MaintenancePause> pause;
    if (!stopped) pause.emplace();
    // Before the marks are read: who marks later notes the block again.
    shading.overflowed[block / 64].fetch_and(~(uint64_t{1} << (block % 64)), std::memory_order_acq_rel);
    uint8_t* start = arena.block_start(block);
    if (arena.in_lower_half(reinterpret_cast<uintptr_t>(start))) walk_block<Pages::kWithMemory>(block, scan_marked);
    else scan_marked(start, look_at(start));
  });
  return true;
}

bool Marker::drain(uint64_t at_most, bool stopped) noexcept {
  uint64_t end = at_most == UINT64_MAX ? UINT64_MAX : scanned_ + at_most;
  while (scanned_ <= end) {
    if (!stack_.is_empty()) scan_object(reinterpret_cast<const Object*>(stack_.pop()));
    else if (coming_ != 0) mark(take_first());
    else if (!scan_rest() && !take_shaded() && !scan_overflowed(stopped)) return true;
  }
  return false;
}

void Marker::empty_queue() noexcept {
  taken_ = 0;
  shading.queued.store(0, std::memory_order_relaxed);
}

void Marker::forget_shaded() noexcept {
  size_t given = std::min(shading.queued.load(std::memory_order_relaxed), Shading::kQueue);
  for (size_t place = taken_; place < given; place++) shading.queue[place].store(0, std::memory_order_relaxed);
  empty_queue();
  for_each_overflowed_block([](size_t block) noexcept { shading.overflowed[block / 64].fetch_and(~(uint64_t{1} << (block % 64)), std::memory_order_relaxed); });
  shading.any_overflowed.store(false, std::memory_order_relaxed);
}

}  // namespace freehold::heap
