#include "spans.h"

#include "os.h"

namespace freehold::bridge {

bool Spans::initialize(size_t units) noexcept {
  // One unit more, so that the start can be aligned.
  auto* memory = static_cast<uint8_t*>(os::map((units + 1) * kUnit));
  if (memory == nullptr) return false;
  info_ = static_cast<Span*>(os::map((units * sizeof(Span) + os::kPageSize - 1) & ~(os::kPageSize - 1)));
  if (info_ == nullptr) {
    os::unmap(memory, (units + 1) * kUnit);
    return false;
  }
  start_ = (reinterpret_cast<uintptr_t>(memory) + kUnit - 1) & ~(kUnit - 1);
  units_ = units;
  return true;
}

// Slots begin at a multiple of 64, so that those of a class whose size is one are aligned so.
void Spans::link(uint32_t& head, Span* span) noexcept {
  span->previous = 0;
  span->next = head;
  if (head != 0) info_[head].previous = number_of(span);
  head = number_of(span);
}

void Spans::unlink(uint32_t& head, Span* span) noexcept {
  if (span->previous != 0) {
    info_[span->previous].next = span->next;
  } else {
    head = span->next;
  }
  if (span->next != 0) info_[span->next].previous = span->previous;
  span->previous = span->next = 0;
}

// A run of exactly so many units: of free ones the first that is long enough, else new ones.
Span* Spans::take(uint32_t units) noexcept {
  Span* found = nullptr;
  for (uint32_t n = units; n < kFreeLists && found == nullptr; n++) {
    if (free_[n] != 0) found = &info_[free_[n]];
  }
  for (uint32_t at = free_[0]; at != 0 && found == nullptr; at = info_[at].next) {
    if (info_[at].units >= units) found = &info_[at];
  }
  if (found == nullptr) {
    if (units > units_ - frontier_) return nullptr;
    found = &info_[frontier_];
    frontier_ += units;
    found->units = units;
    found->is_dirty = false;
    return found;
  }
  unlink(free_list(found->units), found);
  if (found->is_dirty) dirty_units_ -= units;
  if (found->units > units) {
    Span* rest = found + units;
    rest->kind = SpanKind::kFree;
    rest->units = found->units - units;
    rest->is_dirty = found->is_dirty;
    rest[rest->units - 1].kind = SpanKind::kFree;
    rest[rest->units - 1].units = rest->units;
    link(free_list(rest->units), rest);
  }
  found->units = units;
  return found;
}

Span* Spans::make_small(uint32_t size_class) noexcept {
  Span* span = take(1);
  if (span == nullptr) return nullptr;
  span->size_class = static_cast<uint8_t>(size_class);
  span->live = 0;
  span->slots = static_cast<uint16_t>(slots_in(size_class));
  span->free_slot = 0;
  span->previous = span->next = 0;
  span->kind = SpanKind::kSmall;
  for (uint32_t i = 0; i < span->slots; i++) {
    word(span, i).store(kFreeSlot | (i + 1 < span->slots ? i + 1 : kNoSlot), std::memory_order_relaxed);
  }
  used_bytes_ += kUnit;
  return span;
}

Span* Spans::make_large(size_t size) noexcept {
  size = (size + os::kPageSize - 1) & ~(os::kPageSize - 1);
  size_t units = (size + kUnit - 1) / kUnit;
  Span* span = take(static_cast<uint32_t>(units));
  if (span == nullptr) return nullptr;
  span->size = size;
  span->kind = SpanKind::kLarge;
  for (uint32_t i = 1; i < units; i++) {
    span[i].kind = SpanKind::kInside;
    span[i].units = i;
  }
  used_bytes_ += size;
  live_bytes_ += size;
  return span;
}

// All of it counts as live: what is not, the heap knows.
Span* Spans::make_group(size_t size) noexcept {
  Span* span = make_large(size);
  if (span != nullptr) {
    span->previous = span->next = 0;
    span->kind = SpanKind::kGroup;
  }
  return span;
}

void Spans::release(Span* span) noexcept {
  used_bytes_ -= span->kind == SpanKind::kSmall ? kUnit : span->size;
  if (span->kind != SpanKind::kSmall) live_bytes_ -= span->size;
  bool dirty = keeps_dirty_ || dirty_units_ + span->units <= kDirtyUnits;
  if (!dirty) os::discard(start_of(span), size_t{span->units} * kUnit);
  uint32_t units = span->units;
  if (dirty) dirty_units_ += units;
  // In the middle of a run it must not look like a span: a list of spans that a round of the defragmenter has made may name it still.
  span->kind = SpanKind::kUnused;
  // Neighbours of the same kind become one run.
  Span* after = span + units;
  if (number_of(span) + units < frontier_ && after->kind == SpanKind::kFree && after->is_dirty == dirty) {
    unlink(free_list(after->units), after);
    units += after->units;
  }
  Span* before = span - 1;
  if (before->kind == SpanKind::kFree) {
    Span* first = before - (before->units - 1);
    if (first->is_dirty == dirty) {
      unlink(free_list(first->units), first);
      units += first->units;
      span = first;
    }
  }
  span->kind = SpanKind::kFree;
  span->units = units;
  span->is_dirty = dirty;
  span[units - 1].kind = SpanKind::kFree;
  span[units - 1].units = units;
  link(free_list(units), span);
}

bool Spans::give_back_dirty(size_t keep, size_t most) noexcept {
  size_t given = 0;
  for (uint32_t n = 0; n < kFreeLists && dirty_units_ > keep; n++) {
    for (uint32_t at = free_[n]; at != 0 && dirty_units_ > keep; at = info_[at].next) {
      Span* span = &info_[at];
      if (!span->is_dirty) continue;
      if (given >= most) return true;
      os::discard(start_of(span), size_t{span->units} * kUnit);
      span->is_dirty = false;
      dirty_units_ -= span->units;
      given += span->units;
    }
  }
  return false;
}

uint8_t* Spans::pop(Span* span) noexcept {
  uint32_t index = span->free_slot;
  span->free_slot = static_cast<uint16_t>(word(span, index).load(std::memory_order_relaxed));
  word(span, index).store(kLoose, std::memory_order_relaxed);
  span->live++;
  live_bytes_ += size_of_class(span->size_class);
  return slot(span, index);
}

bool Spans::push(Span* span, uint8_t* where) noexcept {
  uint32_t index = index_of(span, reinterpret_cast<uintptr_t>(where));
  word(span, index).store(kFreeSlot | span->free_slot, std::memory_order_relaxed);
  span->free_slot = static_cast<uint16_t>(index);
  live_bytes_ -= size_of_class(span->size_class);
  return --span->live == 0;
}

}  // namespace freehold::bridge
