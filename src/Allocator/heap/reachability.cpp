#include "heap/reachability.h"

#include <string.h>

#include <algorithm>
#include <atomic>
#include <new>

#include "core/arena.h"
#include "core/fault_recovery.h"
#include "core/knobs.h"
#include "core/module_state.h"
#include "core/references.h"
#include "core/stop_spacing.h"
#include "core/stress.h"
#include "heap/accounting.h"
#include "heap/block_walk.h"
#include "heap/classification.h"
#include "heap/concurrent_reclaim.h"
#include "heap/dead_locks.h"
#include "heap/deletion.h"
#include "heap/finalization_queue.h"
#include "heap/forwarding.h"
#include "heap/huge_ends.h"
#include "heap/phases.h"
#include "heap/pin_release.h"
#include "heap/pins.h"
#include "heap/reclaim_policy.h"
#include "heap/thread_heap.h"
#include "heap/trace.h"
#include "heap/unreached_objects.h"
#include "heap/walk.h"
#include "heap/young_blocks.h"
#include "os/growing_memory.h"
#include "os/kernel.h"

namespace freehold::heap {

using core::arena;
using core::BlockKind;
using core::BlockState;
using core::MethodTable;
using core::Object;

namespace {

struct State {
  const RootSupport* support = nullptr;
  void (*looked)(const Marking& marking) noexcept = nullptr;
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

// Reserved as large as it can become.
template <typename Item>
class Stack {
 public:
  explicit Stack(size_t items) noexcept : memory_(items * sizeof(Item), kStep) { memory_.reserve(); }
  ~Stack() { memory_.release(); }

  bool push(Item item) noexcept {
    if (!memory_.reach((count_ + 1) * sizeof(Item))) return false;
    items()[count_++] = item;
    return true;
  }
  bool is_empty() const noexcept { return count_ == 0; }
  Item pop() noexcept { return items()[--count_]; }
  Item* items() noexcept { return reinterpret_cast<Item*>(memory_.start()); }
  size_t count() const noexcept { return count_; }

 private:
  static constexpr size_t kStep = size_t{1} << 20;

  os::GrowingMemory memory_;
  size_t count_ = 0;
};

// One bit for each unit of the arena, of which only the blocks that were marked in have memory.
class Marks {
 public:
  Marks() noexcept
      : bits_(static_cast<uint8_t*>(os::reserve(bits_size(), os::kPageSize, 0))), blocks_(static_cast<uint8_t*>(os::reserve(blocks_size(), os::kPageSize, 0))) {
    complete_ = bits_ != nullptr && blocks_ != nullptr && os::commit(blocks_, blocks_size());
  }
  ~Marks() {
    if (bits_ != nullptr) os::unreserve(bits_, bits_size());
    if (blocks_ != nullptr) os::unreserve(blocks_, blocks_size());
  }
  Marks(const Marks&) = delete;
  Marks& operator=(const Marks&) = delete;

  bool is_complete() const noexcept { return complete_; }
  bool is_marked(const Object* object) const noexcept {
    size_t unit = unit_of(object);
    return has_memory(unit) && (bits_[unit / 8] >> (unit % 8) & 1) != 0;
  }
  // That is_marked and mark need not wait for memory soon.
  void prefetch(uintptr_t address) const noexcept { __builtin_prefetch(bits_ + (address - arena.start) / core::kUnit / 8, 1); }
  // Whether it was not marked before. False too when there is no memory: then the marks are incomplete.
  bool mark(const Object* object) noexcept {
    size_t unit = unit_of(object);
    if (!has_memory(unit) && !commit(unit)) return complete_ = false;
    uint8_t bit = static_cast<uint8_t>(1u << (unit % 8));
    if ((bits_[unit / 8] & bit) != 0) return false;
    bits_[unit / 8] |= bit;
    return true;
  }
  // One that is marked.
  void unmark(const Object* object) noexcept {
    size_t unit = unit_of(object);
    bits_[unit / 8] &= static_cast<uint8_t>(~(1u << (unit % 8)));
  }

 private:
  static constexpr size_t kBlockUnits = core::kBlockSize / core::kUnit;
  static constexpr size_t kBlockBytes = kBlockUnits / 8;
  static_assert(kBlockBytes % core::kPageSize == 0);

  static size_t bits_size() noexcept { return arena.size / core::kUnit / 8; }
  static size_t blocks_size() noexcept { return core::align_up(arena.block_count() / 8, os::kPageSize); }
  static size_t unit_of(const Object* object) noexcept { return (reinterpret_cast<uintptr_t>(object) - arena.start) / core::kUnit; }
  bool has_memory(size_t unit) const noexcept { return (blocks_[unit / kBlockUnits / 8] >> (unit / kBlockUnits % 8) & 1) != 0; }
  bool commit(size_t unit) noexcept {
    size_t block = unit / kBlockUnits;
    if (!os::commit(bits_ + block * kBlockBytes, kBlockBytes)) return false;
    blocks_[block / 8] |= static_cast<uint8_t>(1u << (block % 8));
    return true;
  }

  uint8_t* bits_;
  uint8_t* blocks_;
  bool complete_;
};

bool has_memory(size_t block) noexcept {
  BlockState state = arena.blocks[block].state.load(std::memory_order_acquire);
  return state == BlockState::kLive || state == BlockState::kPooled;
}

// Calls function(object, walked) for every live object.
template <typename Function>
void for_each_live_object(Function function) noexcept {
  auto tell = [&](uint8_t* start, const Walked& walked) noexcept {
    if (walked.step == Step::kObject && (walked.header & core::kDeletedBit) == 0) function(Object::at(start), walked);
  };
  for_each_lower_block([&](size_t block) noexcept {
    if (arena.blocks[block].state.load(std::memory_order_acquire) == BlockState::kLive) walk_block(block, tell);
  });
  for_each_upper_block([&](size_t block) noexcept {
    const core::BlockRecord& record = arena.blocks[block];
    if (record.state.load(std::memory_order_acquire) == BlockState::kLive && record.kind == BlockKind::kHuge)
      tell(arena.block_start(block), look_at(arena.block_start(block)));
  });
}

}  // namespace

// The threads are stopped, and no phase of maintenance nor round of promotion runs.
class Marking {
 public:
  // No object is on a stack twice; deleted ones in the pool may be.
  Marking() noexcept : stack_(most_objects()), left_over_(most_objects()) {}

  // False: there was no memory. What is not marked may live.
  bool is_complete() const noexcept { return complete_ && marks_.is_complete(); }
  bool is_marked(const Object* object) const noexcept { return marks_.is_marked(object); }

  // Nothing leads to this object, nor on from it, until list_graph().
  void pass_over(const Object* object) noexcept { passed_over_ = object; }

  // After all roots: what it leads to and has no mark yet is listed, itself first. If that is complete, the list has no marks again.
  void list_graph(Object* root) noexcept {
    passed_over_ = nullptr;
    lists_ = true;
    mark(reinterpret_cast<uintptr_t>(root), false);
    mark_reached();
    mark_dependents();
    lists_ = false;
    if (!is_complete()) return;
    for (size_t i = 0; i < listed_count(); i++) marks_.unmark(listed()[i]);
  }
  Object* const* listed() noexcept { return left_over_.items(); }
  size_t listed_count() const noexcept { return left_over_.count(); }

  void mark_roots() noexcept {
    state.support->for_each_root(
        [](uintptr_t address, bool interior, void* argument) {
          auto* marking = static_cast<Marking*>(argument);
          marking->mark(address, interior);
          marking->mark_reached();
        },
        this);
    state.support->for_each_frozen(
        [](uint8_t* begin, uint8_t* end, void* argument) {
          walk_frozen(begin, end,
                      [argument](Object* object, size_t size) noexcept { static_cast<Marking*>(argument)->mark_fields(object, object->type, size); });
        },
        this);
    mark_queue();
    mark_reached();
    mark_dependents();
  }

  // Before finalizers are looked at: a weak reference must not find what one has run for.
  void clear_weak_handles() noexcept {
    state.support->for_each_weak(
        [](uint64_t* slot, void* argument) {
          if (arena.contains(*slot) && !static_cast<Marking*>(argument)->is_reached(*slot)) *slot = 0;
        },
        this);
  }

  // All of them before any is marked: that one reaches another does not put off the other's finalizer.
  void enqueue_finalizable() noexcept {
    for_each_live_object([this](Object* object, const Walked& walked) noexcept {
      if (!walked.type->has_finalizer() || (*object->sync_word() & core::kSyncFinalizerRun) != 0 || marks_.is_marked(object)) return;
      reachability_counters.finalizable.fetch_add(1, std::memory_order_relaxed);
      // Without room it waits for the next marking, as a root all the same.
      if (!heap::enqueue_finalizable(reinterpret_cast<uintptr_t>(object)) && !left_over_.push(object)) complete_ = false;
    });
    mark_queue();
    while (!left_over_.is_empty()) mark(reinterpret_cast<uintptr_t>(left_over_.pop()), false);
    mark_reached();
    mark_dependents();
  }

 private:
  static size_t most_objects() noexcept { return resident_memory() / core::kMinimumObjectSize + 1; }

  void mark(uintptr_t address, bool interior) noexcept {
    if (!arena.contains(address)) return;
    address = current_address(address);
    // One past the end of an object is still its: no reference leads to a header.
    if (interior) address = reinterpret_cast<uintptr_t>(find_object(address - 1));
    if (address == 0 || !has_memory(arena.block_index(address))) return;
    uint64_t type;
    if (!core::try_load(reinterpret_cast<const uint64_t*>(address), &type) || type == 0) return;
    auto* object = reinterpret_cast<Object*>(address);
    if (object == passed_over_ || !marks_.mark(object)) return;
    if (!stack_.push(object) || (lists_ && !left_over_.push(object))) complete_ = false;
  }

  void mark_fields(const Object* object, const MethodTable* type, size_t size) noexcept {
    core::for_each_reference(object, type, size, [this](uint64_t* slot) noexcept {
      uint64_t value;
      if (core::try_load(slot, &value) && arena.contains(value)) mark_soon(value);
    });
  }

  // When some others have been found, and what it leads to has come from memory (Cher, Hosking and Vitek, Software Prefetching for Mark-Sweep Garbage
  // Collection, ASPLOS 2004).
  void mark_soon(uintptr_t address) noexcept {
    if (coming_ == kAhead) mark(take_first(), false);
    // Most objects are smaller than a cache line and many lie in two.
    constexpr size_t kFields = 40;
    __builtin_prefetch(reinterpret_cast<const void*>(address));
    __builtin_prefetch(reinterpret_cast<const void*>(address + kFields));
    marks_.prefetch(address);
    ahead_[(first_ + coming_++) % kAhead] = address;
  }
  uintptr_t take_first() noexcept {
    uintptr_t address = ahead_[first_];
    first_ = (first_ + 1) % kAhead;
    coming_--;
    return address;
  }

  void mark_reached() noexcept {
    while (true) {
      if (!stack_.is_empty()) {
        Object* object = stack_.pop();
        Walked walked = look_at(object->start());
        if (walked.step == Step::kObject) mark_fields(object, walked.type, walked.size);
      } else if (coming_ != 0) {
        mark(take_first(), false);
      } else {
        return;
      }
    }
  }

  void mark_queue() noexcept {
    for_each_finalizable([](uint64_t* slot, void* argument) { static_cast<Marking*>(argument)->mark(*slot, false); }, this);
  }

  void mark_dependents() noexcept {
    do {
      found_dependents_ = false;
      state.support->for_each_dependent(
          [](uintptr_t primary, uintptr_t secondary, void* argument) {
            auto* marking = static_cast<Marking*>(argument);
            if (!arena.contains(secondary) || !marking->is_reached(primary)) return;
            marking->mark(secondary, false);
            // Known before, or it cannot be marked.
            if (marking->stack_.is_empty()) return;
            marking->found_dependents_ = true;
            marking->mark_reached();
          },
          this);
    } while (found_dependents_);
  }

  bool is_reached(uintptr_t address) const noexcept {
    return address != 0 && (!arena.contains(address) || is_marked(reinterpret_cast<const Object*>(current_address(address))));
  }

  Marks marks_;
  Stack<Object*> stack_, left_over_;  // left_over_: of list_graph(), what it has listed
  const Object* passed_over_ = nullptr;
  bool lists_ = false;
  // A ring of what mark_soon() was given.
  static constexpr size_t kAhead = 16;
  uintptr_t ahead_[kAhead] = {};
  size_t first_ = 0, coming_ = 0;
  bool complete_ = true, found_dependents_ = false;
};

namespace {

struct UnreachableRequest {
  UnreachableFound found;
  void (*last)(const Marking& marking, void* argument);
  void* argument;
  bool deletes, done;
};

void mark_all(void* argument) noexcept {
  auto& request = *static_cast<UnreachableRequest*>(argument);
  // Only now: a thread that waits for maintenance can be stopped when it is through.
  MaintenancePause pause;
  set_threads_stopped(true);
  if (request.deletes) begin_dead_locks();
  Marking marking;
  if (marking.is_complete()) marking.mark_roots();
  if (request.deletes && marking.is_complete()) {
    marking.clear_weak_handles();
    marking.enqueue_finalizable();
    // Now: what finalizers will use is not dead.
    if (state.looked != nullptr && marking.is_complete()) state.looked(marking);
  }
  if (marking.is_complete()) {
    // What is found may be deleted at once: a walk goes on behind it by the size that it had.
    for_each_live_object([&](Object* object, const Walked& walked) noexcept {
      if (!marking.is_marked(object)) request.found(object, walked.type, walked.size, request.argument);
    });
    if (request.last != nullptr) request.last(marking, request.argument);
    request.done = true;
  }
  set_threads_stopped(false);
}

struct GraphRequest {
  const uint64_t* root;
  GraphFound found;
  void* argument;
  bool done;
};

void mark_graph(void* argument) noexcept {
  auto& request = *static_cast<GraphRequest*>(argument);
  MaintenancePause pause;
  set_threads_stopped(true);
  begin_dead_locks();
  auto* root = reinterpret_cast<Object*>(current_address(*request.root));
  // Another thread may have deleted it; then there is nothing to find. So it is when the deletion waits for the lock.
  if (is_deleted(root) || is_postponed(root)) {
    request.found(nullptr, 0, request.argument);
    request.done = true;
  } else {
    Marking marking;
    marking.pass_over(root);
    if (marking.is_complete()) marking.mark_roots();
    if (marking.is_complete()) marking.list_graph(root);
    if (marking.is_complete()) {
      // No weak reference may give one of them to another thread from here on, while finalizers run.
      marking.clear_weak_handles();
      request.found(marking.listed(), marking.listed_count(), request.argument);
      request.done = true;
    }
  }
  set_threads_stopped(false);
}

template <typename Request>
bool mark_stopped(Request request, bool deletes, void (*run)(void*)) noexcept {
  if (state.support == nullptr) return false;
  {
    PromotionPause pause;
    uint64_t before = os::nanoseconds();
    if (!state.support->stop(run, &request)) return false;
    uint64_t took = os::nanoseconds() - before;
    if (took > reachability_counters.longest_stop.load(std::memory_order_relaxed)) reachability_counters.longest_stop.store(took, std::memory_order_relaxed);
    trace(TraceKind::kReclaimStop, took);
  }
  if (deletes && (finalizable_count() != 0 || dead_locks() != 0)) state.support->run_finalizers();
  (request.done ? reachability_counters.markings : reachability_counters.abandoned).fetch_add(1, std::memory_order_relaxed);
  return request.done;
}

}  // namespace

void set_root_support(const RootSupport* support) noexcept { state.support = support; }
const RootSupport* root_support() noexcept { return state.support; }

bool find_unreachable(UnreachableFound found, void* argument) noexcept { return find_unreachable(found, nullptr, argument); }

bool find_unreachable(UnreachableFound found, void (*last)(const Marking& marking, void* argument), void* argument) noexcept {
  return mark_stopped(UnreachableRequest{found, last, argument, false, false}, false, mark_all);
}

bool is_reached(const Marking& marking, const Object* object) noexcept { return marking.is_marked(object); }

void for_each_reached(const Marking& marking, ReachedFound found, void* argument) noexcept {
  for_each_live_object([&](Object* object, const Walked& walked) noexcept {
    if (marking.is_marked(object)) found(object, walked.type, walked.size, argument);
  });
}

void set_marking_look(void (*looked)(const Marking& marking) noexcept) noexcept { state.looked = looked; }

bool find_live(UnreachableFound found, void* argument) noexcept {
  if (state.support == nullptr) return false;
  struct Request {
    UnreachableFound found;
    void* argument;
  } request = {found, argument};
  PromotionPause pause;
  return state.support->stop(
      [](void* argument) noexcept {
        const auto& request = *static_cast<const Request*>(argument);
        MaintenancePause pause;
        set_threads_stopped(true);
        for_each_live_object([&](Object* object, const Walked& walked) noexcept { request.found(object, walked.type, walked.size, request.argument); });
        set_threads_stopped(false);
      },
      &request);
}

bool find_graph(const uint64_t* root, GraphFound found, void* argument) noexcept {
  bool marked = mark_stopped(GraphRequest{root, found, argument, false}, true, mark_graph);
  end_listed_huge();
  return marked;
}

void for_each_reached(void (*found)(Object* object, void* argument) noexcept, void* argument) noexcept {
  Marking marking;
  if (marking.is_complete()) marking.mark_roots();
  if (!marking.is_complete()) return;
  for_each_live_object([&](Object* object, const Walked&) noexcept {
    if (marking.is_marked(object)) found(object, argument);
  });
}

MarkingResult find_unreachable_types(UnreachableType* entries, size_t capacity) noexcept {
  struct Table {
    UnreachableType* entries;
    size_t capacity, used;
    bool overflows;
  } table = {entries, capacity, 0, false};
  memset(entries, 0, capacity * sizeof *entries);
  auto add = [](Object*, const MethodTable* type, size_t size, void* argument) noexcept {
    auto& table = *static_cast<Table*>(argument);
    // Static fields of threads that have ended: what they refer to is the program's, they are the runtime's.
    if (!type->is_type()) return;
    // Method tables lie next to each other: the bits above their alignment differ.
    size_t index = reinterpret_cast<uintptr_t>(type) / sizeof(MethodTable) % table.capacity;
    while (table.entries[index].type != nullptr && table.entries[index].type != type) index = (index + 1) % table.capacity;
    UnreachableType& entry = table.entries[index];
    // One stays free, where lookups end.
    if (entry.type == nullptr && (table.overflows || table.used + 1 == table.capacity)) {
      table.overflows = true;
      return;
    }
    if (entry.type == nullptr) table.used++;
    entry = {type, entry.objects + 1, entry.bytes + size};
  };
  if (!find_unreachable(add, &table)) return MarkingResult::kNotPossible;
  return table.overflows ? MarkingResult::kNoRoom : MarkingResult::kDone;
}

namespace {

struct Removed {
  int64_t objects;
  uint64_t bytes;
};

void remove(Object* object, size_t size, void* removed) noexcept {
  if (!delete_unreached(object)) return;
  static_cast<Removed*>(removed)->objects++;
  static_cast<Removed*>(removed)->bytes += size;
}

void note_removed(uint64_t objects, uint64_t bytes, void* removed) noexcept {
  static_cast<Removed*>(removed)->objects += static_cast<int64_t>(objects);
  static_cast<Removed*>(removed)->bytes += bytes;
}

// At the end of a marking beside the threads (FREEHOLD_VERIFY): what one with the threads stopped reaches stays.
void check_marks() noexcept {
  Marking marking;
  if (marking.is_complete()) marking.mark_roots();
  if (!marking.is_complete()) return;
  for_each_live_object([&](Object* object, const Walked&) noexcept {
    if (marking.is_marked(object) && !is_kept(object))
      os::fail_fast("the marking beside the threads has lost an object.", "Report it; FREEHOLD_RECLAIM_CONCURRENT=0 does without.");
  });
}

bool mark_beside_threads(ReclaimScope scope, Removed* removed) noexcept {
  if (state.support == nullptr) return false;
  bool done = reclaim_beside_threads(*state.support, scope, remove, note_removed, removed, core::knobs.verify ? check_marks : nullptr);
  if (finalizable_count() != 0 || dead_locks() != 0) state.support->run_finalizers();
  (done ? reachability_counters.markings : reachability_counters.abandoned).fetch_add(1, std::memory_order_relaxed);
  return done;
}

bool mark_and_remove(ReclaimScope scope, Removed* removed) noexcept {
  auto remove_found = [](Object* object, const MethodTable*, size_t size, void* removed) noexcept { remove(object, size, removed); };
  if (state.support != nullptr) state.support->begins(scope);
  bool marked;
  {
    os::LockGuard place(place_lock);
    marked = core::knobs.reclaim_concurrent && !core::knobs.debug && mark_beside_threads(scope, removed);
    // Also where that was abandoned: an allocation may be waiting for it.
    if (!marked && scope == ReclaimScope::kAll) marked = mark_stopped(UnreachableRequest{remove_found, nullptr, removed, true, false}, true, mark_all);
  }
  end_listed_huge();
  if (state.support != nullptr) state.support->ends(scope, marked);
  return marked;
}

}  // namespace

bool can_reclaim_young() noexcept { return core::knobs.reclaims_young() && are_blocks_young(); }

int64_t reclaim(ReclaimScope scope) noexcept {
  core::UnspacedStops unspaced;  // threads allocate meanwhile, and some wait for what it deletes
  Removed removed = {0, 0};
  note_reclaim_begins();
  // Debug mode: what may be pinned stays behind each deletion, and is looked at again with the next one of its block.
  if (core::knobs.debug) refresh_pins();
  if (!can_reclaim_young()) scope = ReclaimScope::kAll;
  uint64_t time = concurrent_reclaim_counters.time.load(std::memory_order_relaxed), before = is_tracing() ? os::nanoseconds() : 0;
  bool marked = mark_and_remove(scope, &removed);
  if (!marked && scope == ReclaimScope::kYoung) {
    scope = ReclaimScope::kAll;
    marked = mark_and_remove(scope, &removed);
  }
  // Counted before it has ended: who waits for its end looks whether it was made.
  if (marked) (scope == ReclaimScope::kAll ? reachability_counters.reclaims : reachability_counters.young).fetch_add(1, std::memory_order_release);
  note_reclaim({scope, marked, removed.bytes, thread_totals().live_bytes(), concurrent_reclaim_counters.time.load(std::memory_order_relaxed) - time});
  if (!marked) return -1;
  if (scope == ReclaimScope::kYoung) reachability_counters.young_bytes.fetch_add(removed.bytes, std::memory_order_relaxed);
  if (before != 0)
    trace(scope == ReclaimScope::kAll ? TraceKind::kReclaim : TraceKind::kYoungReclaim, os::nanoseconds() - before, static_cast<uint64_t>(removed.objects),
          removed.bytes);
  if (core::knobs.debug) release_what_no_thread_pins();
  reachability_counters.objects.fetch_add(static_cast<uint64_t>(removed.objects), std::memory_order_relaxed);
  reachability_counters.bytes.fetch_add(removed.bytes, std::memory_order_relaxed);
  return removed.objects;
}

void wait_for_finalizers() noexcept {
  if (thread_heap.finalizes) return;
  constexpr uint64_t kMicroseconds = 1'000'000, kStep = 1'000;
  auto count = []() noexcept { return finalizable_count() + dead_locks(); };
  size_t left = count();
  for (uint64_t waited = 0; waited < kMicroseconds && left != 0; waited += kStep) {
    os::pause(kStep);
    size_t before = left;
    left = count();
    if (left != before) waited = 0;
  }
}

void reclaim_for_ever(void (*round_done)(const char*)) noexcept {
  while (true) {
    os::pause(core::knobs.stress.reclaim);
    core::leave_threads_their_time();
    if (reclaim(core::next_random() % 3 != 0 ? ReclaimScope::kYoung : ReclaimScope::kAll) >= 0) round_done("deletion of what no root reaches");
  }
}

}  // namespace freehold::heap
