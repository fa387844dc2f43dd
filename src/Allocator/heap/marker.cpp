#include "heap/marker.h"

#include <algorithm>

#include "core/arena.h"
#include "core/fault_recovery.h"
#include "core/references.h"
#include "heap/concurrent_reclaim_counters.h"
#include "heap/forwarding.h"
#include "heap/shading.h"

namespace freehold::heap {

using core::arena;
using core::MethodTable;
using core::Object;

namespace {

// Objects of more bytes are scanned in parts, so that what they lead to does not fill the stack.
constexpr size_t kPart = size_t{32} << 10;
constexpr size_t kStep = size_t{1} << 16;
// A helper is given no less.
constexpr size_t kLeastShared = 32;

}  // namespace

Marker::Marker(MarkPackets& packets) noexcept : packets_(packets), rests_(MarkingBounds::kRests, kStep) {}

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
  if (count_ >= marking_bounds.stack && !give_oldest()) return note_overflow(address);
  stack_[(oldest_ + count_++) % MarkingBounds::kStack] = address;
}

// Half of what is on the stack, or a packet. False: it stays here.
bool Marker::give_oldest() noexcept {
  uintptr_t items[MarkPackets::kItems];
  size_t count = std::min((count_ + 1) / 2, MarkPackets::kItems);
  for (size_t i = 0; i < count; i++) items[i] = stack_[(oldest_ + i) % MarkingBounds::kStack];
  if (!packets_.give(items, count)) return false;
  oldest_ = (oldest_ + count) % MarkingBounds::kStack;
  count_ -= count;
  return true;
}

void Marker::forget() noexcept {
  count_ = coming_ = 0;
  rests_.clear();
}

void Marker::scan(const Object* object, const MethodTable* type, size_t size) noexcept {
  scan_part(object, type, size, nullptr, reinterpret_cast<uint64_t*>(UINTPTR_MAX));
}

void Marker::scan_part(const Object* object, const MethodTable* type, size_t size, uint64_t* begin, uint64_t* end) noexcept {
  core::for_each_reference_between(object, type, size, begin, end, [this](uint64_t* slot) noexcept {
    uint64_t value;
    if (core::try_load(slot, &value) && arena.contains(value)) mark_soon(value);
  });
}

// Not what the program has deleted: the block's accounts have it already.
void Marker::note_found(const Object* object, const Walked& walked) noexcept {
  auto address = reinterpret_cast<uintptr_t>(object);
  if ((walked.header & core::kDeletedBit) != 0 || walked.size > core::kLargeObject || !arena.in_lower_half(address)) return;
  size_t block = arena.block_index(address);
  if (block != found_block_) {
    add_found();
    found_block_ = block;
  }
  found_bytes_ += static_cast<uint32_t>(walked.size);
}

void Marker::add_found() noexcept {
  if (found_bytes_ != 0) __atomic_fetch_add(&shading.found[found_block_], found_bytes_, __ATOMIC_RELAXED);
  found_bytes_ = 0;
}

void Marker::scan_object(const Object* object) noexcept {
  scanned_++;
  Walked walked = look_at(reinterpret_cast<const uint8_t*>(object) - core::kHeaderSize);
  if (walked.step != Step::kObject) return;
  note_found(object, walked);
  if (!walked.type->has_pointers()) return;
  if (walked.size > kPart && rests_.count() < marking_bounds.rests && rests_.push({object, 0})) return;
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
  scan_part(object, walked.type, walked.size, begin, begin + kPart / sizeof(uint64_t));
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

bool Marker::work(uint64_t until, bool shares) noexcept {
  bool done = false;
  uint64_t before = scanned_;
  while (!done && scanned_ <= until) {
    if (packets_.is_abandoned()) forget();
    if (shares && packets_.are_wanted() && count_ >= kLeastShared) give_oldest();
    if (count_ != 0) scan_object(reinterpret_cast<const Object*>(pop()));
    else if (coming_ != 0) mark(take_first());
    else done = !scan_rest();
  }
  add_found();
  if (scanned_ != before) concurrent_reclaim_counters.scanned.fetch_add(scanned_ - before, std::memory_order_relaxed);
  return done;
}

}  // namespace freehold::heap
