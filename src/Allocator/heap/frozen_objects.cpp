#include "heap/frozen_objects.h"

#include "core/arena.h"
#include "core/module_state.h"
#include "os/growing_memory.h"

namespace freehold::heap {

using core::kPageSize;
using core::Object;

namespace {

constexpr size_t kSegmentsAtMost = 64;
constexpr size_t kAtMost = size_t{1} << 30;  // bytes of notes: of 512 GB of frozen objects
constexpr size_t kStep = size_t{1} << 16;

// Of a segment, what was noted: [first, end). A note for each page, counted from `first`: how far behind `first` the object begins that holds the page's first byte.
struct Segment {
  uintptr_t first, end;
  size_t notes;  // the first of them
};

// Written by note_frozen() alone.
struct State {
  ForEachFrozen for_each_frozen = nullptr;
  Segment segments[kSegmentsAtMost] = {};
  size_t count = 0, used = 0;
  os::GrowingMemory memory{kAtMost, kStep};

  void release() noexcept { memory.release(); }
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

uint64_t* notes() noexcept { return reinterpret_cast<uint64_t*>(state.memory.start()); }

// From an object on, to the one that holds the address; null: it lies behind the last one.
Object* walk_to(uintptr_t cursor, uintptr_t end, uintptr_t address) noexcept {
  while (cursor < end) {
    auto* object = reinterpret_cast<Object*>(cursor);
    // The rest of a segment that is being filled.
    if (__atomic_load_n(&object->type, __ATOMIC_ACQUIRE) == nullptr) return nullptr;
    cursor += object->size();
    if (address < cursor) return object;
  }
  return nullptr;
}

void note_segment(uintptr_t first, uintptr_t end) noexcept {
  Segment& segment = state.segments[state.count++] = {first, first, state.used};
  size_t pages = 0;
  while (segment.end < end) {
    auto* object = reinterpret_cast<Object*>(segment.end);
    if (__atomic_load_n(&object->type, __ATOMIC_ACQUIRE) == nullptr) return;
    uintptr_t next = segment.end + object->size();
    for (; first + pages * kPageSize < next; pages++) {
      if (!state.memory.reach((state.used + 1) * sizeof(uint64_t))) return;
      notes()[state.used++] = segment.end - first;
    }
    segment.end = next;
  }
}

Object* find_in(uintptr_t first, uintptr_t end, uintptr_t address) noexcept {
  for (size_t i = 0; i < state.count; i++) {
    const Segment& segment = state.segments[i];
    if (segment.first != first) continue;
    if (address >= segment.end) return walk_to(segment.end, end, address);
    return walk_to(first + notes()[segment.notes + (address - first) / kPageSize], segment.end, address);
  }
  return walk_to(first, end, address);
}

}  // namespace

void note_frozen(ForEachFrozen for_each_frozen) noexcept {
  state.for_each_frozen = for_each_frozen;
  state.count = state.used = 0;
  if (for_each_frozen == nullptr) return;
  if (state.memory.start() == nullptr && !state.memory.reserve()) return;
  for_each_frozen(
      [](uint8_t* first, uint8_t* end, void*) {
        if (state.count < kSegmentsAtMost) note_segment(reinterpret_cast<uintptr_t>(first), reinterpret_cast<uintptr_t>(end));
      },
      nullptr);
}

Object* find_frozen(uintptr_t address) noexcept {
  struct Search {
    uintptr_t address;
    Object* found;
  } search = {address, nullptr};
  if (state.for_each_frozen == nullptr) return nullptr;
  state.for_each_frozen(
      [](uint8_t* first, uint8_t* end, void* argument) {
        auto& search = *static_cast<Search*>(argument);
        auto begin = reinterpret_cast<uintptr_t>(first), behind = reinterpret_cast<uintptr_t>(end);
        if (search.address >= begin && search.address < behind) search.found = find_in(begin, behind, search.address);
      },
      &search);
  return search.found;
}

}  // namespace freehold::heap
