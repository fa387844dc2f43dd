// A heap whose threads a test stops by a lock, for the marking beside them (heap/concurrent_reclaim.h).
#pragma once

#include <atomic>
#include <mutex>
#include <random>
#include <shared_mutex>
#include <utility>

#include "heap/cards.h"
#include "heap/concurrent_reclaim.h"
#include "heap/dead_locks.h"
#include "heap/dedangling.h"
#include "heap/finalization_queue.h"
#include "heap/forwarding.h"
#include "heap/kept_marks.h"
#include "heap/marked_blocks.h"
#include "heap/marking_bounds.h"
#include "heap/marking_team.h"
#include "heap/new_blocks.h"
#include "heap/phases.h"
#include "heap/promotion.h"
#include "heap/reachability.h"
#include "heap/scope_notes.h"
#include "heap/shading.h"
#include "heap_fixture.h"

namespace freehold::testing::beside {  // names that other fixtures have too

using core::Object;
using heap::DeleteResult;

inline uint64_t address(const Object* object) { return reinterpret_cast<uint64_t>(object); }
inline uint64_t* words(Object* object) { return reinterpret_cast<uint64_t*>(object); }

// As the write barriers do. A store of x64 is a release and a load an acquire, which .NET's programs rely on: who finds an object finds its type.
inline void store(Object* object, size_t word, const Object* value) {
  uint64_t name = address(value);
  if (name >= __atomic_load_n(&freehold_barrier.marked_from, __ATOMIC_RELAXED) && heap::is_in_generation0(name))
    heap::mark_cards(reinterpret_cast<uint8_t*>(words(object) + word), sizeof name);
  if (__atomic_load_n(&freehold_barrier.look_from, __ATOMIC_RELAXED) <= name && __atomic_load_n(&freehold_remapping, __ATOMIC_RELAXED) != 0)
    name = freehold_before_store(name, reinterpret_cast<uint64_t>(words(object) + word));
  __atomic_store_n(words(object) + word, name, __ATOMIC_RELEASE);
}
inline Object* load(Object* object, size_t word) { return reinterpret_cast<Object*>(__atomic_load_n(words(object) + word, __ATOMIC_ACQUIRE)); }

// A stop waits for all that threads do under `running`.
class ConcurrentReclaimTest : public HeapTest {
 protected:
  struct Dependent {
    uint64_t primary, secondary;
  };
  static inline std::shared_mutex running;
  static inline std::atomic<int> wanted{0};  // stops that wait for threads: who runs lets them have their turn
  static inline std::mutex roots_lock;
  static inline std::vector<std::vector<Object*>*> roots;
  static inline std::vector<uint64_t> weak, long_weak;
  static inline std::vector<Dependent> dependents;
  static inline std::vector<std::pair<uint8_t*, uint8_t*>> frozen;
  static inline void (*in_stop)() = nullptr;
  static inline void (*at_roots)() = nullptr;
  static inline void (*at_frozen)() = nullptr;
  static inline void (*while_marking)() = nullptr;  // on the marker, once it marks beside the threads
  static inline bool can_stop = true, stopped_now = false;
  static inline int refused_stops = 0;  // that come next
  static inline bool alone = false;     // the child of a fork: the other threads stand for ever
  static inline int stops = 0;

  static constexpr heap::RootSupport kSupport = {[](void (*stopped)(void*), void* argument) {
                                                   if (!can_stop) return false;
                                                   if (refused_stops != 0) {
                                                     refused_stops--;
                                                     return false;
                                                   }
                                                   wanted++;
                                                   std::unique_lock guard(running, std::defer_lock);
                                                   if (!alone) guard.lock();
                                                   wanted--;
                                                   stops++;
                                                   stopped_now = true;
                                                   if (in_stop != nullptr) in_stop();
                                                   stopped(argument);
                                                   stopped_now = false;
                                                   return true;
                                                 },
                                                 [](void (*fn)(uintptr_t, bool, void*), void* argument) {
                                                   if (at_roots != nullptr) at_roots();
                                                   for (const auto* some : roots) {
                                                     for (const Object* object : *some) fn(address(object), false, argument);
                                                   }
                                                 },
                                                 [](void (*fn)(uintptr_t, uintptr_t, void*), void* argument) {
                                                   for (const Dependent& dependent : dependents) fn(dependent.primary, dependent.secondary, argument);
                                                 },
                                                 [](void (*fn)(uint8_t*, uint8_t*, void*), void* argument) {
                                                   if (while_marking != nullptr && heap::is_marking() && !stopped_now) std::exchange(while_marking, nullptr)();
                                                   if (at_frozen != nullptr) at_frozen();
                                                   for (auto [first, end] : frozen) fn(first, end, argument);
                                                 },
                                                 [](void (*fn)(uint64_t*, void*), void* argument) {
                                                   for (uint64_t& handle : weak) fn(&handle, argument);
                                                 },
                                                 []() {},
                                                 [](heap::ReclaimScope) {},
                                                 [](heap::ReclaimScope, bool) {},
                                                 [](void (*fn)(uintptr_t, bool, void*), void* argument) {
                                                   for (const auto* some : roots) {
                                                     for (const Object* object : *some) fn(address(object), false, argument);
                                                   }
                                                 },
                                                 [](bool (*stays)(uintptr_t, bool, void*), void* argument) {
                                                   for (uint64_t& handle : weak) handle = handle == 0 || stays(handle, false, argument) ? handle : 0;
                                                   for (uint64_t& handle : long_weak) handle = handle == 0 || stays(handle, true, argument) ? handle : 0;
                                                   for (Dependent& dependent : dependents)
                                                     dependent =
                                                         dependent.primary == 0 || stays(dependent.primary, true, argument) ? dependent : Dependent{0, 0};
                                                 }};

  void SetUp() override {
    HeapTest::SetUp();
    roots = {&mine_};
    weak.clear();
    long_weak.clear();
    dependents.clear();
    frozen.clear();
    in_stop = at_roots = at_frozen = while_marking = nullptr;
    can_stop = true;
    refused_stops = 0;
    stopped_now = alone = false;
    stops = 0;
    heap::set_root_support(&kSupport);
  }
  void configure(core::Knobs& knobs) override {
    knobs.reclaim_concurrent = true;
    knobs.verify = true;
  }

  Object* node(std::initializer_list<Object*> references = {}, const core::MethodTable* type = &node_type.table) {
    Object* object = allocate(type);
    size_t word = 1;
    for (Object* reference : references) store(object, word++, reference);
    return object;
  }

  std::vector<Object*> mine_;
};

}  // namespace freehold::testing::beside
