#include "heap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "defragmenter.h"
#include "os.h"
#include "raw_memory.h"

namespace freehold::bridge {

Heap heap;

namespace {

constexpr size_t kMostUnits = size_t{1} << 24, kLeastUnits = size_t{1} << 14;  // 1 TB and 1 GB of address space
constexpr size_t kLargestAlignment = kUnit;
constexpr size_t kDefragmentAbove = size_t{16} << 20;  // bytes: a smaller heap needs no thread that watches it

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

[[noreturn]] void report(const char* what, const void* pointer, uint32_t id) noexcept {
  os::fail("freehold: %s: handle %x (id %u)\n", what, reinterpret_cast<uint64_t>(pointer), uint64_t{id});
}

}  // namespace

bool Heap::initialize() noexcept {
  for (size_t units = kMostUnits; units >= kLeastUnits; units /= 2) {
    if (spans_.initialize(units)) return true;
  }
  return false;
}

uint32_t Heap::take_id(ThreadCache& cache) noexcept {
  if (cache.id_count == 0) cache.id_count = static_cast<uint32_t>(table.take(cache.ids, kMostIds));
  return cache.id_count == 0 ? 0 : cache.ids[--cache.id_count];
}

void Heap::free_id(ThreadCache& cache, uint32_t id) noexcept {
  HandleTable::set_freed(id);
  cache.freed[cache.freed_count++] = id;
  if (cache.freed_count == kMostIds) {
    table.give_back(cache.freed, kMostIds);
    cache.freed_count = 0;
  }
}

bool Heap::refill(ThreadCache& cache, uint32_t size_class) noexcept {
  ThreadCache::Loose& loose = cache.loose[size_class];
  uint32_t wanted = (most_loose(size_class) + 1) / 2;
  lock_.lock();
  while (loose.count < wanted) {
    if (partial_[size_class] == 0) {
      if (loose.count != 0) break;
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
  lock_.unlock();
  table.give_back(cache.freed, cache.freed_count);
  cache.freed_count = 0;
  // Ids that were taken and never used.
  table.give_back(cache.ids, cache.id_count);
  cache.id_count = 0;
}

void Heap::take_loose(ThreadCache& cache, uint32_t size_class) noexcept {
  lock_.lock();
  give_back(cache.loose[size_class], 0);
  lock_.unlock();
}

void* Heap::allocate(ThreadCache& cache, size_t size, size_t alignment, bool zeroed) noexcept {
  if (size == 0) size = 1;
  if (size > kLargestSmall || alignment > 64) return allocate_large(cache, size, alignment, zeroed);
  uint32_t size_class = class_of_size(size);
  // The handle has to be aligned as well as the slot, and only where slots are multiples of 64 is it more than 16 (origin).
  while (alignment > 16 && size_of_class(size_class) % 64 != 0) {
    if (++size_class == kClasses) return allocate_large(cache, size, alignment, zeroed);
  }
  ThreadCache::Loose& loose = cache.loose[size_class];
  if (loose.count == 0 && !refill(cache, size_class)) {
    errno = ENOMEM;
    return nullptr;
  }
  uint32_t id = take_id(cache);
  if (id == 0) return raw_memory::allocate(size, alignment, zeroed);
  uint8_t* start = loose.slots[--loose.count];
  Span* span = spans_.span_at(reinterpret_cast<uintptr_t>(start));
  if (zeroed) memset(start, 0, size);
  // A slot of 64 bytes or more looks as aligned as it is.
  size_t looks = size_of_class(size_class) % 64 == 0 ? 64 : 16;
  uint32_t origin = HandleTable::origin(id, looks);
  table.clear_pins(id);
  HandleTable::set(id, reinterpret_cast<uintptr_t>(start), origin);
  // Last: whoever walks the slots with the threads stopped finds only objects that are whole.
  spans_.word(span, spans_.index_of(span, reinterpret_cast<uintptr_t>(start))).store(id, std::memory_order_release);
  return reinterpret_cast<void*>(HandleTable::handle(id, origin));
}

void* Heap::allocate_large(ThreadCache& cache, size_t size, size_t alignment, bool zeroed) noexcept {
  uint32_t id = size > kLargestObject || alignment > kLargestAlignment ? 0 : take_id(cache);
  if (id == 0) return raw_memory::allocate(size, alignment, zeroed);
  lock_.lock();
  bool is_new = false;
  size_t frontier = spans_.frontier();
  Span* span = spans_.make_large(size);
  is_new = spans_.frontier() != frontier;
  if (span != nullptr) span->id = id;
  lock_.unlock();
  if (span == nullptr) {
    cache.ids[cache.id_count++] = id;
    errno = ENOMEM;
    return nullptr;
  }
  uint8_t* start = spans_.start_of(span);
  if (zeroed && !is_new) memset(start, 0, size);
  uint32_t origin = HandleTable::origin(id, kUnit);
  table.clear_pins(id);
  HandleTable::set(id, reinterpret_cast<uintptr_t>(start), origin);
  return reinterpret_cast<void*>(HandleTable::handle(id, origin));
}

void* Heap::handle_at(void* pointer) noexcept {
  uintptr_t address = reinterpret_cast<uintptr_t>(pointer);
  if (!spans_.contains(address)) return pointer;
  Span* span = spans_.span_at(address);
  uint32_t id = 0;
  uintptr_t start = reinterpret_cast<uintptr_t>(spans_.start_of(span));
  if (span->kind == SpanKind::kLarge) {
    id = span->id;
  } else if (span->kind == SpanKind::kSmall && address - start >= Spans::first_slot(span->size_class)) {
    uint32_t index = spans_.index_of(span, address);
    if (index >= span->slots) return pointer;
    id = spans_.word(span, index).load(std::memory_order_acquire);
  }
  if (id == 0 || (id & kFreeSlot) != 0) return pointer;
  uint64_t entry = HandleTable::load(id);
  if (!HandleTable::is_in_use(entry)) return pointer;
  return reinterpret_cast<void*>(HandleTable::handle(id, 0) + (address - entry));
}

void Heap::free_object(ThreadCache& cache, uint32_t id, uint8_t* start) noexcept {
  Span* span = spans_.span_at(reinterpret_cast<uintptr_t>(start));
  free_id(cache, id);
  if (span->kind == SpanKind::kLarge) {
    lock_.lock();
    spans_.release(span);
    lock_.unlock();
    return;
  }
  spans_.word(span, spans_.index_of(span, reinterpret_cast<uintptr_t>(start))).store(kLoose, std::memory_order_relaxed);
  ThreadCache::Loose& loose = cache.loose[span->size_class];
  if (loose.count == most_loose(span->size_class)) {
    lock_.lock();
    give_back(loose, loose.count / 2);
    lock_.unlock();
  }
  loose.slots[loose.count++] = start;
}

void Heap::free(ThreadCache& cache, void* pointer) noexcept {
  if (pointer == nullptr) return;
  uint64_t value = reinterpret_cast<uint64_t>(pointer);
  if ((value & kHandleBit) == 0) {
    if (!contains(pointer)) return raw_memory::free(pointer);
    void* handle = handle_at(pointer);
    if (handle == pointer) report("free of memory that is already free", pointer, 0);
    value = reinterpret_cast<uint64_t>(handle);
  }
  uint32_t id = HandleTable::id_of(value);
  uint64_t entry = HandleTable::load(id);
  if (!HandleTable::is_in_use(entry)) report(table.was_given_out(id) ? "double free" : "free of a pointer that is no object", pointer, id);
  uintptr_t address = entry + HandleTable::offset_of(value);
  Span* span = spans_.contains(address) ? spans_.span_at(address) : nullptr;
  bool at_start =
      span != nullptr && (span->kind == SpanKind::kLarge ? address == reinterpret_cast<uintptr_t>(spans_.start_of(span))
                                                         : reinterpret_cast<uint8_t*>(address) == spans_.slot(span, spans_.index_of(span, address)));
  if (!at_start) report("free of a pointer into an object", pointer, id);
  free_object(cache, id, reinterpret_cast<uint8_t*>(address));
}

size_t Heap::usable_size(void* pointer) noexcept {
  uintptr_t address = HandleTable::translate(reinterpret_cast<uint64_t>(pointer));
  if (!spans_.contains(address)) return raw_memory::usable_size(pointer);
  Span* span = spans_.span_at(address);
  return span->kind == SpanKind::kLarge ? span->size : size_of_class(span->size_class);
}

void* Heap::reallocate(ThreadCache& cache, void* pointer, size_t size) noexcept {
  if (pointer == nullptr) return allocate(cache, size, 16, false);
  if ((reinterpret_cast<uint64_t>(pointer) & kHandleBit) == 0) {
    if (!contains(pointer)) return raw_memory::reallocate(pointer, size);
    pointer = handle_at(pointer);
  }
  uint32_t id = HandleTable::id_of(reinterpret_cast<uint64_t>(pointer));
  if (!HandleTable::is_live(reinterpret_cast<uint64_t>(pointer))) report("realloc of memory that is free", pointer, id);
  size_t old = usable_size(pointer);
  // The same slot while it fits and would not be wasted.
  if (size <= old && size >= old / 2 && (size > kLargestSmall) == (old > kLargestSmall)) return pointer;
  void* moved = allocate(cache, size, 16, false);
  if (moved == nullptr) return nullptr;
  // A new handle, never the old one at another place: a compiler that has compared the two as equal may use the old one's address.
  memcpy(reinterpret_cast<void*>(HandleTable::translate(reinterpret_cast<uint64_t>(moved))),
         reinterpret_cast<void*>(HandleTable::translate(reinterpret_cast<uint64_t>(pointer))), size < old ? size : old);
  free(cache, pointer);
  return moved;
}

// The origin is not kept: it is one of three, and only one of them leads to the start of something.
Span* Heap::find(uint32_t id, uint64_t entry, uint32_t& origin) noexcept {
  for (size_t alignment : {size_t{64}, size_t{16}, kUnit}) {
    origin = HandleTable::origin(id, alignment);
    uintptr_t address = entry + origin;
    if (!spans_.contains(address)) continue;
    Span* span = spans_.span_at(address);
    if (span->kind == SpanKind::kLarge && alignment == kUnit && span->id == id) return span;
    if (span->kind == SpanKind::kSmall && alignment == (size_of_class(span->size_class) % 64 == 0 ? 64 : 16)) {
      uint32_t index = spans_.index_of(span, address);
      if (index < span->slots && spans_.word(span, index).load(std::memory_order_relaxed) == id &&
          spans_.slot(span, index) == reinterpret_cast<uint8_t*>(address)) {
        return span;
      }
    }
  }
  return nullptr;
}

uintptr_t Heap::start_of(uint64_t handle) noexcept {
  uint32_t id = HandleTable::id_of(handle), origin;
  uint64_t entry = HandleTable::load(id);
  return find(id, entry, origin) == nullptr ? HandleTable::translate(handle) : entry + origin;
}

bool Heap::move(uint32_t id, Span* target) noexcept {
  uint64_t entry = HandleTable::load(id);
  if (!HandleTable::is_in_use(entry) || table.is_pinned(id)) return false;
  uint32_t origin;
  Span* span = find(id, entry, origin);
  if (span == nullptr) return false;
  auto* start = reinterpret_cast<uint8_t*>(entry + origin);
  lock_.lock();
  bool moved = false;
  if (span->kind == SpanKind::kLarge) {
    Span* to = spans_.make_large(span->size);
    if (to != nullptr) {
      to->id = id;
      memcpy(spans_.start_of(to), start, span->size);
      HandleTable::set(id, reinterpret_cast<uintptr_t>(spans_.start_of(to)), origin);
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
      HandleTable::set(id, reinterpret_cast<uintptr_t>(to), origin);
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
    }
    if (span->kind == SpanKind::kLarge || span->kind == SpanKind::kFree) unit += span->units - 1;
  }
  figures.resident_bytes = spans_.resident();
  figures.moved_objects = moved_objects_;
  figures.moved_bytes = moved_bytes_;
  lock_.unlock();
  return figures;
}

const char* Heap::verify() noexcept {
  lock_.lock();
  const char* wrong = nullptr;
  for (size_t unit = 1; unit < spans_.frontier() && wrong == nullptr; unit++) {
    Span* span = spans_.numbered(static_cast<uint32_t>(unit));
    if (span->kind == SpanKind::kLarge || span->kind == SpanKind::kFree) {
      if (span->kind == SpanKind::kLarge &&
          HandleTable::load(span->id) + HandleTable::origin(span->id, kUnit) != reinterpret_cast<uintptr_t>(spans_.start_of(span))) {
        wrong = "the entry of a large object is not its address";
      }
      for (uint32_t i = 1; span->kind == SpanKind::kFree && i < span->units; i++) {
        if (span[i].kind == SpanKind::kSmall || span[i].kind == SpanKind::kLarge) wrong = "a unit of a free run looks like a span";
      }
      unit += span->units - 1;
      continue;
    }
    if (span->kind != SpanKind::kSmall) {
      wrong = "a unit is in no span";
      break;
    }
    uint32_t free = 0, live = 0;
    size_t looks = size_of_class(span->size_class) % 64 == 0 ? 64 : 16;
    for (uint32_t i = 0; i < span->slots; i++) {
      uint32_t word = spans_.word(span, i).load(std::memory_order_relaxed);
      if (word == kLoose || (word & kFreeSlot) == 0) live++;
      if ((word & kFreeSlot) == 0 && HandleTable::load(word) + HandleTable::origin(word, looks) != reinterpret_cast<uintptr_t>(spans_.slot(span, i))) {
        wrong = "the entry of an object is not its slot";
      }
    }
    for (uint32_t at = span->free_slot; at != kNoSlot && free <= span->slots; free++) at = spans_.word(span, at).load(std::memory_order_relaxed) & 0xffff;
    if (live != span->live || free + live != span->slots) wrong = "a span's slots do not add up";
    if ((span->free_slot != kNoSlot) != (span->previous != 0 || partial_[span->size_class] == unit)) wrong = "a span with room is not in its list";
  }
  lock_.unlock();
  return wrong;
}

}  // namespace freehold::bridge
