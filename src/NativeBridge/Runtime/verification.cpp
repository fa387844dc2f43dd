// What Heap.Verify finds in the heap of handles: every record is checked against the others. With all threads stopped, or by the only one that is inside; the heap's lock is held.
#include "Platform/violation.h"

#include "handle_table.h"
#include "heap.h"
#include "scoped_pins.h"
#include "threads.h"

namespace freehold::bridge {

using freehold::os::Violation;

// ---- Spans ----

// The free slots of a small span, and the sum of both.
Violation Spans::verify_slots(const Span* span) const noexcept {
  auto wrong = [&](const char* what) noexcept { return Violation{what, "unit", number_of(span), start_of(span)}; };
  if (span->size_class >= kClasses) return wrong("a span has no size class");
  if (span->slots != slots_in(span->size_class)) return wrong("a span has another number of slots than its class");
  if (span->units != 1) return wrong("a span of small objects is longer than a unit");
  uint32_t live = 0, free = 0;
  for (uint32_t i = 0; i < span->slots; i++) {
    uint32_t id = word(span, i).load(std::memory_order_relaxed);
    live += id == kLoose || (id & kFreeSlot) == 0;
  }
  for (uint32_t at = span->free_slot; at != kNoSlot; free++) {
    if (at >= span->slots) return wrong("a list of free slots leads out of its span");
    uint32_t next = word(span, at).load(std::memory_order_relaxed);
    if (next == kLoose || (next & kFreeSlot) == 0) return wrong("a list of free slots leads to one in use");
    if (free == span->slots) return wrong("a list of free slots is a circle");
    at = next & ~kFreeSlot;
  }
  if (live != span->live || free + live != span->slots) return wrong("a span's slots do not add up");
  return {};
}

// The lists of free runs.
Violation Spans::verify_free(size_t free_runs) const noexcept {
  size_t listed = 0;
  for (uint32_t n = 0; n < kFreeLists; n++) {
    for (uint32_t at = free_[n], before = 0; at != 0; before = at, at = info_[at].next) {
      auto wrong = [&](const char* what) noexcept { return Violation{what, "unit", at, nullptr}; };
      if (at >= frontier_ || info_[at].kind != SpanKind::kFree) return wrong("a list of free runs leads to what is none");
      if (++listed > free_runs) return wrong("the lists of free runs have more than there are");
      if (info_[at].units != n && (n != 0 || info_[at].units < kFreeLists)) return wrong("a free run is in the list of another length");
      if (info_[at].previous != before) return wrong("a free run does not know the one before it");
    }
  }
  if (listed != free_runs) return {"a free run is in no list", "free runs listed", listed, nullptr};
  return {};
}

Violation Spans::verify(const uint32_t (&partial)[kClasses]) const noexcept {
  size_t used = 0, live = 0, dirty = 0, free_runs = 0, with_room[kClasses] = {};
  if (frontier_ == 0 || frontier_ > units_) return {"the first unused unit is outside of the heap", "unit", frontier_, nullptr};
  for (size_t unit = 1, units; unit < frontier_; unit += units) {
    const Span* span = &info_[unit];
    auto wrong = [&](const char* what) noexcept { return Violation{what, "unit", unit, start_of(span)}; };
    units = span->units;
    if (span->kind != SpanKind::kSmall && span->kind != SpanKind::kLarge && span->kind != SpanKind::kGroup && span->kind != SpanKind::kFree)
      return wrong("a unit is in no span");
    if (units == 0 || units > frontier_ - unit) return wrong("a span ends outside of the heap");
    if (span->kind == SpanKind::kSmall) {
      if (Violation violation = verify_slots(span); violation.is_found()) return violation;
      used += kUnit;
      live += size_t{span->live} * size_of_class(span->size_class);
      with_room[span->size_class] += span->free_slot != kNoSlot;
    } else if (span->kind == SpanKind::kLarge || span->kind == SpanKind::kGroup) {
      if (span->size == 0 || span->size % os::kPageSize != 0 || (span->size + kUnit - 1) / kUnit != units)
        return wrong("a large object has another number of units than its size");
      for (uint32_t i = 1; i < units; i++) {
        if (span[i].kind != SpanKind::kInside || span[i].units != i) return wrong("a unit inside of a large object does not lead to its start");
      }
      used += span->size;
      live += span->size;
    } else {
      for (uint32_t i = 1; i < units; i++) {
        if (span[i].kind == SpanKind::kSmall || span[i].kind == SpanKind::kLarge) return wrong("a unit of a free run looks like a span");
      }
      if (span[units - 1].kind != SpanKind::kFree || span[units - 1].units != units) return wrong("the end of a free run has another length");
      dirty += span->is_dirty ? units : 0;
      free_runs++;
    }
  }
  if (Violation violation = verify_free(free_runs); violation.is_found()) return violation;
  for (uint32_t c = 0; c < kClasses; c++) {
    size_t listed = 0;
    for (uint32_t at = partial[c], before = 0; at != 0; before = at, at = info_[at].next) {
      auto wrong = [&](const char* what) noexcept { return Violation{what, "unit", at, nullptr}; };
      if (at >= frontier_ || info_[at].kind != SpanKind::kSmall || info_[at].size_class != c || info_[at].free_slot == kNoSlot)
        return wrong("a list of spans with room leads to what is none");
      if (++listed > with_room[c]) return wrong("the list of spans with room is a circle");
      if (info_[at].previous != before) return wrong("a span with room does not know the one before it");
    }
    if (listed != with_room[c]) return {"a span with room is not in its list", "size of the slots", size_of_class(c), nullptr};
  }
  if (used != used_bytes_.load(std::memory_order_relaxed))
    return {"the count of used bytes is wrong", "bytes counted", used_bytes_.load(std::memory_order_relaxed), nullptr};
  if (live != live_bytes_) return {"the count of live bytes is wrong", "bytes counted", live_bytes_, nullptr};
  if (dirty != dirty_units_.load(std::memory_order_relaxed))
    return {"the count of units that wait for their next use is wrong", "units counted", dirty_units_.load(std::memory_order_relaxed), nullptr};
  return {};
}

// ---- The table ----

Violation HandleTable::verify(size_t objects) const noexcept {
  uint64_t end = frontier_.load(std::memory_order_relaxed), live = 0;
  if (end == 0 || end > kFirstReservedId) return {"the first id that was never given out is none", "id", end, nullptr};
  for (uint64_t id = 1; id < end; id++) {
    auto number = static_cast<uint32_t>(id);
    if (entry(number).load(std::memory_order_relaxed) == 0) continue;
    live++;
    if (size_t size = size_of(number); size == 0 || size > kLargestObject) return {"an object has a size that none can have", "id", id, nullptr};
  }
  if (live != objects) return {"the heap and the table have different numbers of objects", "ids in use", live, nullptr};
  size_t waiting = 0;
  uint32_t last = 0;
  for (uint32_t id = first_; waiting < waiting_; waiting++) {
    if (id == 0 || id >= end) return {"the queue of freed ids leads to one that was never given out", "id", id, nullptr};
    if (entry(id).load(std::memory_order_relaxed) != 0) return {"the queue of freed ids has one in use", "id", id, nullptr};
    last = id;
    if (waiting + 1 < waiting_) id = note(id).load(std::memory_order_relaxed);
  }
  size_t unused = 0;
  for (uint32_t id = unused_; unused < unused_count_; unused++, id = note(id).load(std::memory_order_relaxed)) {
    if (id == 0 || id >= end) return {"the list of unused ids leads to one that was never given out", "id", id, nullptr};
    if (entry(id).load(std::memory_order_relaxed) != 0) return {"the list of unused ids has one in use", "id", id, nullptr};
  }
  if (unused_count_ >= end) return {"the list of unused ids has more than were given out", "ids", unused_count_, nullptr};
  if (waiting_ >= end) return {"the queue of freed ids has more than were given out", "ids", waiting_, nullptr};
  if (waiting_ != 0 && last != last_) return {"the queue of freed ids has another end", "id", last_, nullptr};
  return {};
}

// ---- What threads keep ----

namespace {

Violation verify_ids(const uint32_t* ids, uint32_t count) noexcept {
  if (count > kMostIds) return {"a thread keeps more ids than it has room for", "ids", count, nullptr};
  for (uint32_t i = 0; i < count; i++) {
    if (!table.was_given_out(ids[i])) return {"a thread keeps an id that was never given out", "id", ids[i], nullptr};
    if (HandleTable::is_in_use(HandleTable::load(ids[i]))) return {"a thread keeps an id that is in use", "id", ids[i], nullptr};
    for (uint32_t k = 0; k < i; k++) {
      if (ids[k] == ids[i]) return {"a thread keeps an id twice", "id", ids[i], nullptr};
    }
  }
  return {};
}

}  // namespace

Violation Heap::verify_cache(const ThreadCache& cache) noexcept {
  for (uint32_t c = 0; c < kClasses; c++) {
    const ThreadCache::Loose& loose = cache.loose[c];
    if (loose.count > kMostLoose) return {"a thread keeps more slots than it has room for", "slots", loose.count, nullptr};
    for (uint32_t i = 0; i < loose.count; i++) {
      auto address = reinterpret_cast<uintptr_t>(loose.slots[i]);
      auto wrong = [&](const char* what) noexcept { return Violation{what, "size of the slots", size_of_class(c), loose.slots[i]}; };
      if (!spans_.contains(address)) return wrong("a thread keeps a slot that is outside of the heap");
      const Span* span = spans_.span_at(address);
      if (span->kind != SpanKind::kSmall || span->size_class != c) return wrong("a thread keeps a slot of another size");
      uint32_t slot = address < reinterpret_cast<uintptr_t>(spans_.slot(span, 0)) ? span->slots : spans_.index_of(span, address);
      if (slot >= span->slots || spans_.slot(span, slot) != loose.slots[i]) return wrong("a thread keeps an address at which no slot begins");
      if (spans_.word(span, slot).load(std::memory_order_relaxed) != kLoose) return wrong("a slot that a thread keeps is free or used in its span");
      for (uint32_t k = 0; k < i; k++) {
        if (loose.slots[k] == loose.slots[i]) return wrong("a thread keeps a slot twice");
      }
    }
  }
  return {};
}

// ---- Objects ----

Violation Heap::verify_objects(size_t* count) noexcept {
  for (size_t unit = 1; unit < spans_.frontier(); unit += spans_.numbered(static_cast<uint32_t>(unit))->units) {
    const Span* span = spans_.numbered(static_cast<uint32_t>(unit));
    auto wrong = [&](const char* what, uint32_t id, const void* start) noexcept { return Violation{what, "id", id, start}; };
    if (span->kind == SpanKind::kLarge) {
      ++*count;
      if (!table.was_given_out(span->id) ||
          HandleTable::load(span->id) + HandleTable::origin(span->id, kUnit) != reinterpret_cast<uintptr_t>(spans_.start_of(span))) {
        return wrong("the entry of a large object is not its address", span->id, spans_.start_of(span));
      }
      continue;
    }
    if (span->kind == SpanKind::kGroup) {
      if (Violation violation = verify_chunk(spans_.numbered(static_cast<uint32_t>(unit)), count); violation.is_found()) return violation;
      continue;
    }
    if (span->kind != SpanKind::kSmall) continue;
    uint32_t size = size_of_class(span->size_class);
    size_t least = size % 64 == 0 ? 64 : 16;
    for (uint32_t i = 0; i < span->slots; i++) {
      uint32_t id = spans_.word(span, i).load(std::memory_order_relaxed);
      if ((id & kFreeSlot) != 0) continue;
      ++*count;
      bool leads = false;
      // As aligned as the class is, or as was asked for, which a slot's size is a multiple of.
      for (size_t looks = least; table.was_given_out(id) && size % looks == 0 && !leads; looks = looks < 64 ? 128 : looks * 2) {
        leads = HandleTable::load(id) + HandleTable::origin(id, looks) == reinterpret_cast<uintptr_t>(spans_.slot(span, i));
      }
      if (!leads) return wrong("the entry of an object is not its slot", id, spans_.slot(span, i));
    }
  }
  return {};
}

Violation ScopedPins::verify() const noexcept {
  const Entry* all = entries_.load(std::memory_order_acquire);
  if (all == nullptr) return {};
  uint32_t end = end_.load(std::memory_order_acquire), pins = 0, unused = 0;
  if (end == 0 || end > kMost) return {"the number of places for pins is beyond what there can be", "places", end, nullptr};
  for (uint32_t i = 1; i < end; i++) pins += (all[i].word.load(std::memory_order_relaxed) >> 63) != 0;
  for (auto at = static_cast<uint32_t>(unused_.load(std::memory_order_relaxed)); at != 0;) {
    if (at >= end || (all[at].word.load(std::memory_order_relaxed) >> 63) != 0)
      return {"the list of unused places for pins leads to one that is used", "place", at, nullptr};
    if (++unused >= end) return {"the list of unused places for pins is a circle", "place", at, nullptr};
    at = static_cast<uint32_t>(all[at].word.load(std::memory_order_relaxed));
  }
  if (pins != count()) return {"the count of pins is wrong", "pins counted", count(), nullptr};
  return {};
}

// ---- All of it ----

Violation Heap::verify_all() noexcept {
  if (Violation violation = static_cast<const Spans&>(spans_).verify(partial_); violation.is_found()) return violation;
  size_t objects = 0;
  if (Violation violation = verify_objects(&objects); violation.is_found()) return violation;
  if (Violation violation = verify_open_chunks(); violation.is_found()) return violation;
  if (Violation violation = table.verify(objects); violation.is_found()) return violation;
  Violation violation;
  threads::for_each([&](const Thread& thread) {
    if (!violation.is_found()) violation = verify_cache(thread.cache);
    if (!violation.is_found()) violation = verify_ids(thread.ids.ids, thread.ids.count);
    if (!violation.is_found()) violation = verify_ids(thread.ids.freed, thread.ids.freed_count);
    for (const Ids::OfGroup& own : thread.ids.groups) {
      if (!violation.is_found()) violation = verify_ids(own.ids, own.count);
    }
  });
  return violation.is_found() ? violation : scoped_pins.verify();
}

const char* Heap::verify() noexcept {
  // One thread at a time verifies, as all are stopped. Who finds something should end.
  static char description[192];
  lock_.lock();
  Violation violation = verify_all();
  lock_.unlock();
  return freehold::os::describe(violation, description, sizeof description);
}

}  // namespace freehold::bridge
