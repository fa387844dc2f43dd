// Words of objects that may move, by whatever name. Static: the recovery addresses of a function that the linker discards would lead nowhere.
#pragma once

#include "heap/cards.h"
#include "heap/forwarding.h"
#include "heap_fixture.h"

namespace freehold::testing {

using core::Object;

// Word `index` of an object: 0 is its type. Faults are answered as the runtime answers them.
static inline uint64_t* word_of(Object* object, size_t index) {
  return reinterpret_cast<uint64_t*>(heap::current_address(reinterpret_cast<uintptr_t>(object))) + index;
}

static inline uint64_t load(Object* object, size_t index) {
  uint64_t value;
  while (!core::try_load(word_of(object, index), &value)) heap::wait_while_evacuating(reinterpret_cast<uintptr_t>(object));
  return value;
}

// References: with the write barrier.
static inline void store(Object* object, size_t index, uint64_t value) {
  if (__atomic_load_n(&freehold_remapping, __ATOMIC_RELAXED) != 0) value = freehold_current_name(value);
  while (true) {
    uint64_t* word = word_of(object, index);
    uint64_t before;
    bool swapped;
    if (value >= __atomic_load_n(&freehold_barrier.marked_from, __ATOMIC_RELAXED) && heap::is_in_generation0(value))
      heap::mark_cards(reinterpret_cast<uint8_t*>(word), sizeof value);
    if (core::try_load(word, &before) && core::try_compare_and_swap(word, before, value, &swapped)) {
      if (swapped) return;
    } else {
      heap::wait_while_evacuating(reinterpret_cast<uintptr_t>(word));
    }
  }
}

}  // namespace freehold::testing
