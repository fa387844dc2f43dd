// A heap whose roots are lists of the test.
#pragma once

#include <random>
#include <set>
#include <utility>
#include <vector>

#include "heap/forwarding.h"
#include "heap/reachability.h"
#include "heap/root_support.h"
#include "heap_fixture.h"

namespace freehold::testing {

using core::Object;

inline uintptr_t address(Object* object) { return reinterpret_cast<uintptr_t>(object); }
inline size_t arena_block(Object* object) { return core::arena.block_index(address(object)); }
inline Object* current(Object* object) { return reinterpret_cast<Object*>(heap::current_address(address(object))); }

class ReachabilityTest : public HeapTest {
 protected:
  struct Root {
    uintptr_t address;
    bool interior;
  };
  static inline std::vector<Root> roots;
  static inline std::vector<std::pair<Object*, Object*>> dependents;
  static inline std::vector<std::pair<uint8_t*, uint8_t*>> frozen;
  static inline std::vector<uint64_t> weak;
  static inline int finalizer_requests = 0;
  static inline int collections_begun = 0, collections_done = 0, collections_abandoned = 0;
  static inline bool can_stop = true;

  static constexpr heap::RootSupport kSupport = {[](void (*stopped)(void*), void* argument) {
                                                   if (can_stop) stopped(argument);
                                                   return can_stop;
                                                 },
                                                 [](void (*fn)(uintptr_t, bool, void*), void* argument) {
                                                   for (const Root& root : roots) fn(root.address, root.interior, argument);
                                                 },
                                                 [](void (*fn)(uintptr_t, uintptr_t, void*), void* argument) {
                                                   for (auto [primary, secondary] : dependents) fn(address(primary), address(secondary), argument);
                                                 },
                                                 [](void (*fn)(uint8_t*, uint8_t*, void*), void* argument) {
                                                   for (auto [first, end] : frozen) fn(first, end, argument);
                                                 },
                                                 [](void (*fn)(uint64_t*, void*), void* argument) {
                                                   for (uint64_t& handle : weak) fn(&handle, argument);
                                                 },
                                                 []() { finalizer_requests++; },
                                                 [](heap::ReclaimScope) { collections_begun++; },
                                                 [](heap::ReclaimScope, bool done) { (done ? collections_done : collections_abandoned)++; },
                                                 [](void (*fn)(uintptr_t, bool, void*), void* argument) {
                                                   for (const Root& root : roots) fn(root.address, root.interior, argument);
                                                 },
                                                 [](bool (*)(uintptr_t, bool, void*), void*) {}};

  void SetUp() override {
    HeapTest::SetUp();
    roots.clear();
    dependents.clear();
    frozen.clear();
    weak.clear();
    finalizer_requests = 0;
    can_stop = true;
    heap::set_root_support(&kSupport);
  }

  // With the threads stopped: concurrent_reclaim_test.cpp has the marking beside them.
  void configure(core::Knobs& knobs) override { knobs.reclaim_concurrent = false; }

  static void add_root(Object* object) { roots.push_back({address(object), false}); }

  Object* node(std::initializer_list<Object*> references = {}, const core::MethodTable* type = &node_type.table) {
    Object* object = allocate(type);
    size_t word = 1;
    for (Object* reference : references) set(object, word++, reference);
    return object;
  }
  static void set(Object* object, size_t word, Object* reference) { reinterpret_cast<uint64_t*>(object)[word] = address(reference); }

  static std::set<Object*> unreachable() {
    std::set<Object*> found;
    EXPECT_TRUE(heap::find_unreachable(
        [](Object* object, const core::MethodTable* type, size_t size, void* found) {
          EXPECT_EQ(object->type, type);
          EXPECT_EQ(object->size(), size);
          EXPECT_TRUE(static_cast<std::set<Object*>*>(found)->insert(object).second);
        },
        &found));
    return found;
  }
  using Objects = std::set<Object*>;
};

}  // namespace freehold::testing
