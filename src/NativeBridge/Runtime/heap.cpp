#include "heap.h"

#include <stdlib.h>
#include <string.h>

#include "budget.h"
#include "defragmenter.h"
#include "os.h"

namespace freehold::bridge {

Heap heap;

namespace {

constexpr size_t kMostUnits = size_t{1} << 24, kLeastUnits = size_t{1} << 14;  // 1 TB and 1 GB of address space

uint32_t most_loose(uint32_t size_class) noexcept {
  static constexpr struct Most {
    uint32_t of[kClasses];
    constexpr Most() noexcept : of{} {
      for (uint32_t c = 0; c < kClasses; c++) {
        uint32_t n = 16 * 1024 / size_of_class(c);
        of[c] = n > kMostLoose ? kMostLoose : n < 2 ? 2 : n;
      }
    }
  } kMost;
  return kMost.of[size_class];
}

}  // namespace

bool Heap::initialize() noexcept {
  for (size_t units = kMostUnits; units >= kLeastUnits; units /= 2) {
    if (spans_.initialize(units)) return true;
  }
  return false;
}

bool Heap::refill(ThreadCache& cache, uint32_t size_class) noexcept {
  ThreadCache::Loose& loose = cache.loose[size_class];
  uint32_t wanted = (most_loose(size_class) + 1) / 2;
  bool may_grow = false;
  lock_.lock();
  while (loose.count < wanted) {
    if (partial_[size_class] == 0) {
      if (loose.count != 0) break;
      if (!may_grow) {
        // Without the lock, which the budget's thread takes.
        lock_.unlock();
        may_grow = budget::make_room(kUnit);
        lock_.lock();
        if (!may_grow) break;
        continue;
      }
      Span* made = spans_.make_small(size_class);
      if (made == nullptr) break;
      spans_.link(partial_[size_class], made);
    }
    Span* span = spans_.numbered(partial_[size_class]);
    while (loose.count < wanted && span->free_slot != kNoSlot) loose.slots[loose.count++] = spans_.pop(span);
    if (span->free_slot == kNoSlot) spans_.unlink(partial_[size_class], span);
  }
  size_t resident = spans_.resident();
  lock_.unlock();
  if (resident > kDefragmentAbove) defragmenter.start();
  return loose.count != 0;
}

void Heap::release_slot(Span* span, uint8_t* slot) noexcept {
  bool was_full = span->free_slot == kNoSlot;
  bool is_empty = spans_.push(span, slot);
  if (was_full) spans_.link(partial_[span->size_class], span);
  if (!is_empty) return;
  spans_.unlink(partial_[span->size_class], span);
  spans_.release(span);
}

void Heap::give_back(ThreadCache::Loose& loose, uint32_t keep) noexcept {
  while (loose.count > keep) {
    uint8_t* slot = loose.slots[--loose.count];
    release_slot(spans_.span_at(reinterpret_cast<uintptr_t>(slot)), slot);
  }
}

void Heap::empty(ThreadCache& cache) noexcept {
  lock_.lock();
  for (auto& loose : cache.loose) give_back(loose, 0);
  for (GroupChunk*& chunk : cache.chunks) {
    if (chunk != nullptr) give_up_chunk(chunk);
    chunk = nullptr;
  }
  lock_.unlock();
}

void Heap::take_loose(ThreadCache& cache, uint32_t size_class) noexcept {
  lock_.lock();
  give_back(cache.loose[size_class], 0);
  lock_.unlock();
}

void* Heap::allocate(ThreadCache& cache, uint32_t id, size_t size, size_t* alignment, bool zeroed) noexcept {
  if (uint32_t group = current_group(); group != 0 && size <= kLargestGrouped && *alignment <= 16) {
    void* start = allocate_grouped(cache, group, id, size);
    if (start != nullptr && zeroed) memset(start, 0, size);
    if (start != nullptr) return start;
  }
  if (size > kLargestSmall || *alignment > kLargestSmall) return allocate_large(id, size, alignment, zeroed);
  uint32_t size_class = class_of_size(size);
  // Slots of multiples of 64 bytes are aligned to 64, and those of powers of two to their size.
  if (*alignment > 64) size_class = class_of_size(size_t{1} << (64 - __builtin_clzl((size > *alignment ? size : *alignment) - 1)));
  while (*alignment > 16 && size_of_class(size_class) % 64 != 0) {
    if (++size_class == kClasses) return allocate_large(id, size, alignment, zeroed);
  }
  ThreadCache::Loose& loose = cache.loose[size_class];
  if (loose.count == 0 && !refill(cache, size_class)) return nullptr;
  uint8_t* start = loose.slots[--loose.count];
  Span* span = spans_.span_at(reinterpret_cast<uintptr_t>(start));
  if (zeroed) memset(start, 0, size);
  if (*alignment <= 64) *alignment = size_of_class(size_class) % 64 == 0 ? 64 : 16;
  spans_.word(span, spans_.index_of(span, reinterpret_cast<uintptr_t>(start))).store(id, std::memory_order_release);
  return start;
}

void* Heap::allocate_large(uint32_t id, size_t size, size_t* alignment, bool zeroed) noexcept {
  bool may_grow = budget::make_room(size);
  lock_.lock();
  size_t frontier = spans_.frontier();
  Span* span = may_grow ? spans_.make_large(size) : nullptr;
  bool is_new = spans_.frontier() != frontier;
  if (span != nullptr) span->id = id;
  lock_.unlock();
  if (span == nullptr) return nullptr;
  uint8_t* start = spans_.start_of(span);
  if (zeroed && !is_new) memset(start, 0, size);
  *alignment = kUnit;
  return start;
}

uint32_t Heap::find(void* pointer, void** start) noexcept {
  *start = nullptr;
  auto address = reinterpret_cast<uintptr_t>(pointer);
  if (!spans_.contains(address)) return 0;
  Span* span = spans_.span_at(address);
  uint8_t* first = spans_.start_of(span);
  *start = first;
  if (span->kind == SpanKind::kLarge) return span->id;
  if (span->kind == SpanKind::kGroup) {
    size_t size;
    return chunk_of(span)->find(address, start, &size);
  }
  if (span->kind != SpanKind::kSmall || address - reinterpret_cast<uintptr_t>(first) < Spans::first_slot(span->size_class)) return 0;
  uint32_t index = spans_.index_of(span, address);
  if (index >= span->slots) return 0;
  *start = spans_.slot(span, index);
  uint32_t id = spans_.word(span, index).load(std::memory_order_acquire);
  return (id & kFreeSlot) != 0 ? 0 : id;
}

bool Heap::free(ThreadCache& cache, uint32_t id, void* address) noexcept {
  void* start;
  if (find(address, &start) != id || start != address) return false;
  Span* span = spans_.span_at(reinterpret_cast<uintptr_t>(start));
  if (span->kind == SpanKind::kLarge) {
    // Two threads that free one object at once both come so far.
    lock_.lock();
    span = spans_.span_at(reinterpret_cast<uintptr_t>(address));
    bool is_mine = span->kind == SpanKind::kLarge && find(address, &start) == id && start == address;
    if (is_mine) spans_.release(span);
    lock_.unlock();
    return is_mine;
  }
  if (span->kind == SpanKind::kGroup) {
    size_t size;
    chunk_of(span)->find(reinterpret_cast<uintptr_t>(start), &start, &size);
    if (!chunk_of(span)->take(start, id)) return false;
    free_grouped(span, start, size);
    return true;
  }
  if (span->kind != SpanKind::kSmall) return false;  // it went meanwhile
  spans_.word(span, spans_.index_of(span, reinterpret_cast<uintptr_t>(start))).store(kLoose, std::memory_order_relaxed);
  ThreadCache::Loose& loose = cache.loose[span->size_class];
  if (loose.count == most_loose(span->size_class)) {
    lock_.lock();
    give_back(loose, loose.count / 2);
    lock_.unlock();
  }
  loose.slots[loose.count++] = static_cast<uint8_t*>(start);
  return true;
}

size_t Heap::usable_size(void* pointer) noexcept {
  auto address = reinterpret_cast<uintptr_t>(pointer);
  if (!spans_.contains(address)) return 0;
  Span* span = spans_.span_at(address);
  if (span->kind == SpanKind::kGroup) {
    void* start;
    size_t size;
    chunk_of(span)->find(address, &start, &size);
    return size;
  }
  return span->kind == SpanKind::kLarge ? span->size : size_of_class(span->size_class);
}

void* Heap::reallocate(void* start, size_t size) noexcept {
  size_t old = usable_size(start);
  // The same slot while it fits and would not be wasted.
  return size <= old && size >= old / 2 && (size > kLargestSmall) == (old > kLargestSmall) ? start : nullptr;
}

bool Heap::move(uint32_t id, void* from, Span* target) noexcept {
  if (table.is_pinned(id)) return false;
  auto* start = static_cast<uint8_t*>(from);
  Span* span = spans_.span_at(reinterpret_cast<uintptr_t>(start));
  // The bytes are at `to`.
  auto lead_to = [&](uint8_t* to) { HandleTable::change(id, static_cast<uint64_t>(to - start)); };
  lock_.lock();
  bool moved = false;
  if (span->kind == SpanKind::kGroup) {
    moved = move_grouped(id, start, span);
  } else if (span->kind == SpanKind::kLarge) {
    Span* to = spans_.make_large(span->size);
    if (to != nullptr) {
      to->id = id;
      memcpy(spans_.start_of(to), start, span->size);
      lead_to(spans_.start_of(to));
      moved_bytes_ += span->size;
      if (overwrite_) memset(start, 0xdb, span->size);
      spans_.release(span);
      moved = true;
    }
  } else {
    uint32_t size_class = span->size_class, size = size_of_class(size_class);
    if (target == nullptr) {
      // Any other span: its own only when there is no other, and then another slot of it.
      for (uint32_t at = partial_[size_class]; at != 0 && target == nullptr; at = spans_.numbered(at)->next) {
        if (spans_.numbered(at) != span) target = spans_.numbered(at);
      }
      if (target == nullptr && (target = spans_.make_small(size_class)) != nullptr) spans_.link(partial_[size_class], target);
    }
    if (target != nullptr && target->free_slot != kNoSlot) {
      uint8_t* to = spans_.pop(target);
      if (target->free_slot == kNoSlot) spans_.unlink(partial_[size_class], target);
      memcpy(to, start, size);
      lead_to(to);
      spans_.word(target, spans_.index_of(target, reinterpret_cast<uintptr_t>(to))).store(id, std::memory_order_relaxed);
      if (overwrite_) memset(start, 0xdb, size);
      release_slot(span, start);
      moved_bytes_ += size;
      moved = true;
    }
  }
  if (moved) moved_objects_++;
  lock_.unlock();
  return moved;
}

HeapFigures Heap::figures() noexcept {
  HeapFigures figures{};
  lock_.lock();
  for (size_t unit = 1; unit < spans_.frontier(); unit++) {
    Span* span = spans_.numbered(static_cast<uint32_t>(unit));
    if (span->kind == SpanKind::kSmall) {
      figures.live_objects += span->live;
      figures.live_bytes += uint64_t{span->live} * size_of_class(span->size_class);
    } else if (span->kind == SpanKind::kLarge) {
      figures.live_objects++;
      figures.live_bytes += span->size;
    } else if (span->kind == SpanKind::kGroup) {
      figures.live_objects += chunk_of(span)->live_objects();
      figures.live_bytes += chunk_of(span)->live_bytes();
    }
    if (span->kind != SpanKind::kSmall) unit += span->units - 1;
  }
  figures.resident_bytes = spans_.resident();
  figures.moved_objects = moved_objects_;
  figures.moved_bytes = moved_bytes_;
  lock_.unlock();
  return figures;
}

}  // namespace freehold::bridge
