// The fixture of tests of guarded objects (FREEHOLD_SAMPLE).
#pragma once

#include <vector>

#include "heap/guarded_blocks.h"
#include "heap/guarded_objects.h"
#include "heap/thread_heap.h"
#include "scopes_fixture.h"

namespace freehold::testing {

using heap::guarded_counters;
using Stack = std::vector<uintptr_t>;

// All small objects are guarded, but for tests that say otherwise.
template <typename Base>
class GuardedHeap : public Base {
 protected:
  void configure(core::Knobs& knobs) override {
    Base::configure(knobs);
    knobs.sample = 1;
  }
  void SetUp() override {
    Base::SetUp();
    heap::set_stack_walker([](heap::StackOf what, uintptr_t* addresses, size_t) -> size_t {
      addresses[0] = what == heap::StackOf::kAllocation ? 0xa110c : 0xde1;
      return 1;
    });
  }
  void TearDown() override {
    heap::set_stack_walker(nullptr);
    Base::TearDown();
  }

  static core::BlockKind kind_of(const Object* object) { return core::arena.blocks[core::arena.block_index(reinterpret_cast<uintptr_t>(object))].kind; }
  static bool is_guarded(const Object* object) { return kind_of(object) == core::BlockKind::kGuarded; }
  static bool is_readable(const Object* object) {
    uint64_t value;
    return core::try_load(reinterpret_cast<const uint64_t*>(object), &value);
  }
  static heap::History history(const Object* object) { return heap::history_of(reinterpret_cast<uintptr_t>(object)); }
  static Stack stack(uint32_t number) {
    uintptr_t addresses[heap::kStackDepth];
    return {addresses, addresses + heap::read_stack(number, addresses, heap::kStackDepth)};
  }
  // Bytes of chosen objects that are to be made up for by a filler.
  static void thread_heap_owes(size_t bytes) {
    heap::thread_heap.guard_unplaced = bytes;
    heap::thread_heap.guard_countdown = int64_t{1} << 30;  // nothing else is chosen before
  }
  static uint64_t alive() { return guarded_counters.alive.load(); }
  static uint64_t held() { return guarded_counters.held.load(); }
  static uint64_t caught() { return guarded_counters.caught.load(); }
};

class GuardedTest : public GuardedHeap<ScopesTest> {};

}  // namespace freehold::testing
