#include "heap/concurrent_reclaim.h"

#include <time.h>

#include "core/arena.h"
#include "core/fault_recovery.h"
#include "core/knobs.h"
#include "core/module_state.h"
#include "core/references.h"
#include "core/stop_spacing.h"
#include "heap/block_walk.h"
#include "heap/card_roots.h"
#include "heap/cards.h"
#include "heap/dead_locks.h"
#include "heap/finalization_queue.h"
#include "heap/forwarding.h"
#include "heap/frozen_objects.h"
#include "heap/kept_marks.h"
#include "heap/marked_blocks.h"
#include "heap/marking_bounds.h"
#include "heap/marking_team.h"
#include "heap/moved_references.h"
#include "heap/new_blocks.h"
#include "heap/phases.h"
#include "heap/shading.h"
#include "heap/thread_heap.h"
#include "heap/trace.h"
#include "heap/unreached_pages.h"
#include "heap/walk.h"
#include "heap/young_blocks.h"
#include "os/kernel.h"

namespace freehold::heap {

using core::arena;
using core::BlockKind;
using core::BlockState;
using core::Object;

ConcurrentReclaimCounters concurrent_reclaim_counters;
FREEHOLD_MODULE_STATE(concurrent_reclaim_counters);

namespace {

// What has no marks lives in a block that began meanwhile, or is none of a young reclaim's; or its block is gone.
bool is_strong(uintptr_t address) noexcept {
  if (!arena.contains(address)) return true;
  address = current_address(address);
  if (is_covered(address)) return is_marked(address);
  BlockState state = arena.blocks[arena.block_index(address)].state.load(std::memory_order_acquire);
  return state == BlockState::kLive || state == BlockState::kPooled;
}

// Calls function(object, walked) for every live object of a block.
template <typename Function>
void for_each_live_in(size_t block, Function function) noexcept {
  auto tell = [&](uint8_t* start, const Walked& walked) noexcept {
    if (walked.step == Step::kObject && (walked.header & core::kDeletedBit) == 0) function(Object::at(start), walked);
  };
  const core::BlockRecord& record = arena.blocks[block];
  if (record.state.load(std::memory_order_acquire) != BlockState::kLive) return;
  uint8_t* start = arena.block_start(block);
  if (arena.in_lower_half(reinterpret_cast<uintptr_t>(start))) walk_block(block, tell);
  else if (record.kind == BlockKind::kHuge) tell(start, look_at(start));
}

uint64_t processor_time() noexcept {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

// One thread at a time.
void note_longest(std::atomic<uint64_t>& longest, uint64_t nanoseconds) noexcept {
  if (nanoseconds > longest.load(std::memory_order_relaxed)) longest.store(nanoseconds, std::memory_order_relaxed);
}

class Cycle {
 public:
  Cycle(const RootSupport& support, ReclaimScope scope, void (*check)() noexcept) noexcept : support_(support), scope_(scope), check_(check) {}

  // True: what has no mark is unreachable, and the threads go on.
  bool mark() noexcept;
  void delete_unmarked(UnreachedFound remove, UnreachedRemoved removed, void* argument) noexcept;

 private:
  bool stop(void (*stopped)(void* cycle)) noexcept;
  void begin() noexcept;
  void end() noexcept;
  void give_up() noexcept;
  void mark_roots() noexcept;
  void mark_frozen() noexcept;
  void mark_remembered() noexcept;
  void mark_dependents() noexcept;
  void look_at_finalized() noexcept;
  void decide() noexcept;

  const RootSupport& support_;
  const ReclaimScope scope_;
  void (*check_)() noexcept;
  MarkingTeam marker_;
  KeptMarks kept_;
  uint64_t budget_ = kFirstBudget;  // objects that the last stop may scan
  bool complete_ = true, done_ = false;
  bool remembers_ = false;  // for the next one, if that is a young one
  bool found_ = false;      // by the stop, or by the callback that is running

  // A tenth of a millisecond or so.
  static constexpr uint64_t kFirstBudget = 1000;
};

KeptMarks* kept_now = nullptr;  // while the threads are stopped at the end of a cycle

bool Cycle::stop(void (*stopped)(void* cycle)) noexcept {
  struct Timed {
    Cycle* cycle;
    void (*stopped)(void*);
  } timed = {this, stopped};
  uint64_t before = os::nanoseconds();
  bool stood = support_.stop(
      [](void* argument) {
        const auto& timed = *static_cast<const Timed*>(argument);
        uint64_t before = os::nanoseconds();
        MaintenancePause pause;  // a page that goes away would hide the object that an address inside it leads to
        set_threads_stopped(true);
        timed.stopped(timed.cycle);
        set_threads_stopped(false);
        concurrent_reclaim_counters.stops.fetch_add(1, std::memory_order_relaxed);
        note_longest(concurrent_reclaim_counters.longest_work, os::nanoseconds() - before);
      },
      &timed);
  if (stood) {
    uint64_t took = os::nanoseconds() - before;
    note_longest(reachability_counters.longest_stop, took);
    trace(TraceKind::kReclaimStop, took);
  }
  return stood;
}

void Cycle::begin() noexcept {
  // Those that came since the first look. From here on, who allocates takes what is marked already, or a block that is not covered.
  complete_ = cover_new_blocks(scope_);
  if (!complete_) return;
  if (remembers_) begin_young_blocks();
  mark_what_is_not_handed_out();
  freehold_registered_again = 0;
  set_marking(true);
  mark_roots();
  found_ = false;
  mark_dependents();
}

void Cycle::mark_roots() noexcept {
  support_.for_each_root(
      [](uintptr_t address, bool interior, void* argument) {
        auto* cycle = static_cast<Cycle*>(argument);
        if (cycle->marker_.mark(address, interior)) cycle->found_ = true;
      },
      this);
  for_each_finalizable(
      [](uint64_t* slot, void* argument) {
        auto* cycle = static_cast<Cycle*>(argument);
        if (cycle->marker_.mark(*slot)) cycle->found_ = true;
      },
      this);
}

void Cycle::mark_frozen() noexcept {
  support_.for_each_frozen(
      [](uint8_t* first, uint8_t* end, void* argument) {
        walk_frozen(first, end, [argument](Object* object, size_t size) noexcept { static_cast<Cycle*>(argument)->marker_.scan(object, object->type, size); });
      },
      this);
}

void Cycle::mark_remembered() noexcept {
  if (scope_ != ReclaimScope::kYoung) return;
  // Page by page, so that what they lead to does not fill the stack.
  constexpr Remembered kRemembered = {[](uint64_t value, void* cycle) noexcept { static_cast<Cycle*>(cycle)->marker_.mark(value); },
                                      [](void* cycle) noexcept { static_cast<Cycle*>(cycle)->marker_.work(); }};
  uint64_t pages = for_each_remembered(kRemembered, this);
  concurrent_reclaim_counters.young_cards.fetch_add(pages, std::memory_order_relaxed);
}

// Once over all handles.
void Cycle::mark_dependents() noexcept {
  support_.for_each_dependent(
      [](uintptr_t primary, uintptr_t secondary, void* argument) {
        auto* cycle = static_cast<Cycle*>(argument);
        if (primary == 0 || !arena.contains(secondary)) return;
        if (is_strong(primary)) cycle->found_ = cycle->marker_.mark(secondary) || cycle->found_;
        else if (cycle->kept_.is_kept(current_address(primary))) cycle->found_ = cycle->kept_.keep(secondary) || cycle->found_;
      },
      this);
}

// What was registered again since its finalizer ran stays this time.
void Cycle::look_at_finalized() noexcept {
  kept_.for_each_finalized([this](Object* object) noexcept {
    auto address = reinterpret_cast<uintptr_t>(object);
    uint32_t sync;
    if (core::try_load(object->sync_word(), &sync) && (sync & core::kSyncFinalizerRun) == 0 && !kept_.is_kept(address) && marker_.mark(address)) found_ = true;
  });
}

// The threads are stopped. If that is not the end yet, they go on, and so does the marking.
void Cycle::end() noexcept {
  found_ = false;
  if (!take_moved([](uint64_t value, void* argument) noexcept { static_cast<Cycle*>(argument)->marker_.mark(value); }, this)) {
    complete_ = false;
    return give_up();
  }
  mark_roots();
  if (freehold_registered_again != 0) look_at_finalized();
  uint64_t budget = budget_;
  budget_ *= 2;
  while (true) {
    uint64_t before = marker_.scanned() + kept_.scanned();
    if (!marker_.drain_stopped(budget) || !kept_.drain_stopped(budget)) return;
    uint64_t scanned = marker_.scanned() + kept_.scanned() - before;
    budget -= scanned < budget ? scanned : budget;
    found_ = false;
    mark_dependents();
    if (!found_) break;
  }
  marker_.empty_queue();
  complete_ = complete_ && kept_.is_complete();
  if (!complete_) return give_up();
  decide();
}

void Cycle::give_up() noexcept {
  set_marking(false);
  marker_.forget_shaded();
  done_ = true;
}

// Nothing more is reached. From here on no thread can come to what is not kept.
void Cycle::decide() noexcept {
  kept_now = &kept_;
  support_.clear_handles([](uintptr_t address, bool resurrection,
                            void* kept) { return is_strong(address) || (resurrection && static_cast<KeptMarks*>(kept)->is_kept(current_address(address))); },
                         &kept_);
  begin_dead_locks();
  kept_.for_each_candidate([](Object* object) noexcept {
    uint32_t sync;
    if (is_marked(reinterpret_cast<uintptr_t>(object)) || !core::try_load(object->sync_word(), &sync) || (sync & core::kSyncFinalizerRun) != 0) return;
    Walked walked = look_at(object->start());
    if (walked.step != Step::kObject || (walked.header & core::kDeletedBit) != 0) return;
    reachability_counters.finalizable.fetch_add(1, std::memory_order_relaxed);
    // Without room it waits for the next marking.
    enqueue_finalizable(reinterpret_cast<uintptr_t>(object));
  });
  if (check_ != nullptr) check_();
  kept_now = nullptr;
  set_marking(false);
  done_ = true;
}

bool Cycle::mark() noexcept {
  forget_moved();
  note_frozen(support_.for_each_frozen);
  remembers_ = core::knobs.reclaims_young() && reserve_young_blocks();
  if (!reserve_marks() || !cover_blocks(scope_) || !stop([](void* cycle) { static_cast<Cycle*>(cycle)->begin(); })) complete_ = false;
  want_no_blocks();
  if (!complete_) return false;
  mark_frozen();
  mark_remembered();
  marker_.drain();
  for_each_covered_block([this](size_t block) noexcept {
    if (!core::may_have_finalizable(block)) return;
    MaintenancePause pause;  // all of them: what lies behind a page that goes away would be left out
    for_each_live_in(block, [this](Object* object, const Walked& walked) noexcept {
      if (walked.type->has_finalizer() && !is_marked(reinterpret_cast<uintptr_t>(object))) kept_.add_candidate(object);
    });
  });
  for (bool again = false; !done_; again = true) {
    // An end that was none: the threads run for as long as they stood. Before the drain, since what is shaded between it and the stop may make another stop necessary.
    if (again) core::stop_spacing.wait(1);
    marker_.drain();
    kept_.drain();
    if (!stop([](void* cycle) { static_cast<Cycle*>(cycle)->end(); })) complete_ = false;
    if (!complete_ && !done_) {
      stop([](void* cycle) { static_cast<Cycle*>(cycle)->give_up(); });
      break;
    }
  }
  return complete_;
}

void Cycle::delete_unmarked(UnreachedFound remove, UnreachedRemoved removed, void* argument) noexcept {
  for_each_covered_block([&](size_t block) noexcept {
    MaintenancePause pause;
    if (is_used_up_small_block(block)) {
      if (is_reached_whole(block)) return;
      Unreached gone = UnreachedPages(block, kept_, remove, argument).run();
      return removed(gone.objects, gone.bytes, argument);
    }
    for_each_live_in(block, [&](Object* object, const Walked& walked) noexcept {
      auto address = reinterpret_cast<uintptr_t>(object);
      if (!is_marked(address) && !kept_.is_kept(address)) remove(object, walked.size, argument);
    });
  });
}

}  // namespace

bool is_kept(const Object* object) noexcept {
  auto address = reinterpret_cast<uintptr_t>(object);
  return is_marked(address) || (kept_now != nullptr && kept_now->is_kept(address));
}

void forget_marking() noexcept {
  forget_place_lock();
  if (is_marking()) set_marking(false);
  kept_now = nullptr;
  want_no_blocks();
  forget_moved();
  forget_markers();
  forget_marks();
}

bool reclaim_beside_threads(const RootSupport& support, ReclaimScope scope, UnreachedFound remove, UnreachedRemoved removed, void* argument,
                            void (*check)() noexcept) noexcept {
  stress_bounds();
  ConcurrentReclaimCounters& counters = concurrent_reclaim_counters;
  uint64_t time = processor_time(), scanned = counters.scanned.load(std::memory_order_relaxed);
  Cycle cycle(support, scope, check);
  bool marked = cycle.mark();
  if (marked) cycle.delete_unmarked(remove, removed, argument);
  uncover_blocks();
  auto add = [](std::atomic<uint64_t>& counter, uint64_t by) noexcept { counter.fetch_add(by, std::memory_order_relaxed); };
  add(marked ? counters.cycles : counters.abandoned, 1);
  time = processor_time() - time;
  add(counters.time, time);
  if (scope == ReclaimScope::kYoung) {
    add(counters.young_cycles, marked ? 1 : 0);
    add(counters.young_time, time);
    add(counters.young_scanned, counters.scanned.load(std::memory_order_relaxed) - scanned);
  }
  return marked;
}

}  // namespace freehold::heap
