#include "runtime/collections.h"

#include <atomic>
#include <climits>

#include "Platform/lock.h"
#include "core/knobs.h"
#include "core/module_state.h"
#include "heap/heap.h"
#include "heap/maintenance_signals.h"
#include "heap/reachability.h"
#include "os/kernel.h"
#include "runtime/event.h"

namespace freehold::runtime {

namespace {

constexpr int32_t kOldest = 2, kYoung = 1;
constexpr uint64_t kAllocatedForRound = uint64_t{64} << 20;
enum Mode : int32_t { kNonBlocking = 1, kOptimized = 4 };  // InternalGCCollectionMode

struct State {
  // Collections of each generation and of older ones: who counts one counts those below too, oldest first, so that no reader sees more of an older generation.
  std::atomic<uint32_t> counts[kOldest + 1] = {};
  // The index of the last one of each kind, and of what generation the last of any was. Hints of each other: relaxed.
  std::atomic<uint64_t> last_ephemeral{0}, last_full{0};
  std::atomic<uint32_t> last_young_generation{0};
  std::atomic<uint64_t> allocated_at_last_round{0};
  // When the last marking ended and how long it took, in nanoseconds.
  std::atomic<uint64_t> marked_at{0}, marking_took{0};
  std::atomic<uint32_t> cheap_calls{0};  // of GC.Collect since then that made none
  // Likewise, of the last young reclaim for such a call.
  std::atomic<uint64_t> young_at{0}, young_took{0};

  // Full collections that have begun and ended since start.
  std::atomic<uint32_t> begun{0}, ended{0};

  // Notifications. Guards the words that belong together.
  os::Lock lock;
  std::atomic<uint32_t> registration{0};  // odd: somebody is registered
  uint32_t approach_seen = 0;             // begun, when somebody was last told of an approach, or registered
  uint32_t ended_before = 0;              // ended, when somebody registered
  Changes changes;                        // of any of these
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

void count_collection(int32_t generation) noexcept {
  for (int32_t i = generation; i > 0; i--) state.counts[i].fetch_add(1, std::memory_order_relaxed);
  uint64_t index = state.counts[0].fetch_add(1, std::memory_order_relaxed) + 1;
  if (generation != kOldest) state.last_young_generation.store(static_cast<uint32_t>(generation), std::memory_order_relaxed);
  (generation == kOldest ? state.last_full : state.last_ephemeral).store(index, std::memory_order_relaxed);
  state.allocated_at_last_round.store(heap::total_allocated_bytes(), std::memory_order_relaxed);
}

bool may_mark(int32_t generation, int32_t mode) noexcept {
  constexpr uint64_t kShare = 50;
  constexpr uint32_t kInARow = 5;
  if (!core::knobs.reclaims()) return false;
  if (generation >= kOldest && (mode & (kNonBlocking | kOptimized)) == 0) return true;
  // Who asks again and again waits for something to die.
  if (state.cheap_calls.fetch_add(1, std::memory_order_relaxed) + 1 < kInARow) return false;
  return os::nanoseconds() - state.marked_at.load(std::memory_order_relaxed) >= kShare * state.marking_took.load(std::memory_order_relaxed);
}

bool mark_and_delete() noexcept {
  uint64_t start = os::nanoseconds();
  bool done = heap::reclaim() >= 0;
  uint64_t end = os::nanoseconds();
  state.marking_took.store(end - start, std::memory_order_relaxed);
  state.cheap_calls.store(0, std::memory_order_relaxed);
  state.marked_at.store(end, std::memory_order_relaxed);
  return done;
}

// Who asks again and again may wait for something that is old: such a call counts as one that has made no marking.
bool delete_young() noexcept {
  constexpr uint64_t kShare = 10;
  uint64_t start = os::nanoseconds();
  if (!heap::can_reclaim_young() || start - state.young_at.load(std::memory_order_relaxed) < kShare * state.young_took.load(std::memory_order_relaxed))
    return false;
  bool done = heap::reclaim(heap::ReclaimScope::kYoung) >= 0;
  uint64_t end = os::nanoseconds();
  state.young_took.store(end - start, std::memory_order_relaxed);
  state.young_at.store(end, std::memory_order_relaxed);
  return done;
}

// Waits until is_over() says so, under the lock, or the registration that there was ends.
template <typename Condition>
int32_t wait_for_notification(int32_t milliseconds, Condition is_over) noexcept {
  enum Status : int32_t { kSucceeded, kFailed, kCancelled, kTimeout };
  uint32_t registered = state.registration.load(std::memory_order_acquire);
  if (registered % 2 == 0) return kFailed;
  int64_t end = Event::now() + milliseconds;
  while (true) {
    uint32_t seen = state.changes.seen();
    {
      os::LockGuard guard(state.lock);
      if (state.registration.load(std::memory_order_relaxed) != registered) return kCancelled;
      if (is_over()) return kSucceeded;
    }
    int64_t left = milliseconds < 0 ? -1 : end - Event::now();
    if (milliseconds >= 0 && left <= 0) return kTimeout;
    state.changes.wait(seen, left);
  }
}

}  // namespace

void collect_garbage(int32_t generation, int32_t mode) noexcept {
  if (generation < 0 || generation > kOldest) generation = kOldest;
  // A library may call it for each of its requests: compaction of the whole heap, and giving back all that is kept for new objects, are for who forces it.
  // The background thread does what pays of both.
  const bool forced = generation == kOldest && (mode & (kNonBlocking | kOptimized)) == 0;
  if ((may_mark(generation, mode) && mark_and_delete()) || (generation < kOldest && core::knobs.reclaims() && delete_young())) {
    if (forced) heap::collect();
    return;
  }
  if (generation == kOldest) collection_begins(heap::ReclaimScope::kAll);
  if (forced) heap::collect();
  if (generation == kOldest) collection_ends(heap::ReclaimScope::kAll, true);
  else count_collection(generation);
}

int32_t collection_count(int32_t generation) noexcept {
  if (generation < 0 || generation > kOldest) return 0;
  if (generation == 0) {
    uint64_t allocated = heap::total_allocated_bytes(), before = state.allocated_at_last_round.load(std::memory_order_relaxed);
    if (allocated >= before + kAllocatedForRound && state.allocated_at_last_round.compare_exchange_strong(before, allocated, std::memory_order_relaxed)) {
      heap::wake_maintenance();
      count_collection(0);
    }
  }
  return static_cast<int32_t>(state.counts[generation].load(std::memory_order_relaxed) & INT_MAX);
}

LastCollection last_collection(CollectionKind kind) noexcept {
  uint64_t ephemeral = state.last_ephemeral.load(std::memory_order_relaxed), full = state.last_full.load(std::memory_order_relaxed);
  uint32_t young = state.last_young_generation.load(std::memory_order_relaxed);
  switch (kind) {
    case CollectionKind::kBackground: return {0, 0};
    case CollectionKind::kEphemeral: return {ephemeral, young};
    case CollectionKind::kFullBlocking: return {full, kOldest};
    case CollectionKind::kAny: break;
  }
  return full >= ephemeral ? LastCollection{full, full == 0 ? 0u : kOldest} : LastCollection{ephemeral, young};
}

void collection_begins(heap::ReclaimScope scope) noexcept {
  if (scope != heap::ReclaimScope::kAll) return;
  state.begun.fetch_add(1, std::memory_order_release);
  state.changes.announce();
}

void collection_ends(heap::ReclaimScope scope, bool done) noexcept {
  if (scope != heap::ReclaimScope::kAll) {
    if (done) count_collection(kYoung);
    return;
  }
  if (done) count_collection(kOldest);
  state.ended.fetch_add(1, std::memory_order_release);
  state.changes.announce();
}

bool register_full_gc_notification() noexcept {
  {
    os::LockGuard guard(state.lock);
    uint32_t before = state.registration.load(std::memory_order_relaxed);
    state.registration.store(before + (before % 2 == 0 ? 1 : 2), std::memory_order_release);
    state.approach_seen = state.begun.load(std::memory_order_acquire);
    state.ended_before = state.ended.load(std::memory_order_acquire);
  }
  state.changes.announce();
  return true;
}

bool cancel_full_gc_notification() noexcept {
  {
    os::LockGuard guard(state.lock);
    uint32_t before = state.registration.load(std::memory_order_relaxed);
    if (before % 2 != 0) state.registration.store(before + 1, std::memory_order_release);
  }
  state.changes.announce();
  return true;
}

int32_t wait_for_full_gc_approach(int32_t milliseconds) noexcept {
  uint32_t seen;
  {
    os::LockGuard guard(state.lock);
    seen = state.approach_seen;
  }
  // Each collection is told of once to those who ask one after the other, and to all who wait for it.
  return wait_for_notification(milliseconds, [seen]() noexcept {
    uint32_t now = state.begun.load(std::memory_order_acquire);
    if (now == seen) return false;
    state.approach_seen = now;
    return true;
  });
}

int32_t wait_for_full_gc_complete(int32_t milliseconds) noexcept {
  return wait_for_notification(milliseconds, []() noexcept {
    uint32_t now = state.ended.load(std::memory_order_acquire);
    return now != state.ended_before && static_cast<int32_t>(now - state.approach_seen) >= 0;
  });
}

}  // namespace freehold::runtime
