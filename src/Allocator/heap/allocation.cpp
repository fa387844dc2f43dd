#include "heap/allocation.h"

#include <algorithm>
#include <atomic>
#include <initializer_list>
#include <new>
#include <utility>

#include "Platform/lock.h"
#include "core/arena.h"
#include "core/knobs.h"
#include "core/module_state.h"
#include "core/object.h"
#include "heap/accounting.h"
#include "heap/addresses.h"
#include "heap/allocation_samples.h"
#include "heap/chunks.h"
#include "heap/dead_locks.h"
#include "heap/death_look.h"
#include "heap/dedangling.h"
#include "heap/finalization_queue.h"
#include "heap/giving_back.h"
#include "heap/guarded_choice.h"
#include "heap/guarded_objects.h"
#include "heap/history.h"
#include "heap/huge_ends.h"
#include "heap/large.h"
#include "heap/maintenance.h"
#include "heap/maintenance_signals.h"
#include "heap/mappings.h"
#include "heap/notices.h"
#include "heap/pacing.h"
#include "heap/phases.h"
#include "heap/promotion.h"
#include "heap/reachability.h"
#include "heap/reclaim_policy.h"
#include "heap/scopes.h"
#include "heap/shared_work.h"
#include "heap/thread_heap.h"
#include "os/kernel.h"

namespace freehold::heap {

using core::arena;
using core::BlockKind;

namespace {

os::Lock pinned_lock;
os::Lock reclaim_lock;  // whoever has it marks before an allocation fails
// What threads do together that reach the limit together: rounds of maintenance, those that may not wait for other rounds and those that may; remaps that look for addresses; and the markings behind the
// finalizers that those before have found.
struct State {
  SharedWork quick_rounds, whole_rounds, address_remaps, second_markings;
  std::atomic<bool> missed_round{false};  // by the last of the quick ones: a hint, relaxed
  uint64_t reclaims_given_back = 0;       // when the last of the whole ones began that was made for a marking; written and read by whoever makes one
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

// Room for an object of `size` in the context's chunk, or in another. More than one may be needed: maintenance may take one that is new for idle.
bool make_room(AllocationContext* context, size_t size, BlockKind kind) noexcept {
  while (!extend_window(context, size)) {
    // A chunk begins where a page does: with it the period of a loop would be back.
    bool shifts =
        core::knobs.samples_allocations() && context == thread_heap.context && thread_heap.emergency == 0 && size + kShiftAtMost <= core::kLargeObject;
    if (shifts && next_chunk(context, size + kShiftAtMost, kind)) shift_allocations(context);
    else if (!next_chunk(context, size, kind)) return false;
    if (core::knobs.guards_samples() && core::knobs.sample != 1 && context == thread_heap.context && (thread_heap.emergency | thread_heap.emergency_large) == 0)
        [[unlikely]]
      shift_for_guarded(context, size, true);
  }
  return true;
}

uint8_t* allocate_pinned(size_t size) noexcept {
  os::LockGuard guard(pinned_lock);
  AllocationContext& context = pinned_context();
  if (!make_room(&context, size, BlockKind::kPinned)) return nullptr;
  uint8_t* object = context.alloc_ptr;
  context.alloc_ptr += size;
  return object - core::kHeaderSize;
}

// One try. Memory for the object, header included, or null.
uint8_t* try_allocate(AllocationContext* context, size_t size, uint32_t flags) noexcept {
  if (size > shared_at_most()) {
    pace_large(size);
    uint8_t* start = allocate_large(size, (flags & kAllocZeroingOptional) != 0);
    if (start != nullptr) add_allocated(context, size);
    if (start != nullptr && core::knobs.stacks) note_allocated(start);
    if (start != nullptr && thread_heap.scopes != nullptr) note_object_of_scope(start, size);
    return start;
  }
  if ((flags & kAllocPinned) != 0) {
    uint8_t* start = allocate_pinned(size);
    if (start != nullptr) add_allocated(context, size);
    if (start != nullptr && thread_heap.scopes != nullptr) note_object_of_scope(start, size);
    return start;
  }
  void* chunk_before = context->chunk_end;
  if (!make_room(context, size, BlockKind::kSmall)) return nullptr;
  uint8_t* object = context->alloc_ptr;
  if (thread_heap.scopes != nullptr && context->chunk_end != chunk_before && context == thread_heap.context) [[unlikely]]
    note_chunk_of_scope(object - core::kHeaderSize, static_cast<uint8_t*>(context->chunk_end));
  context->alloc_ptr += size;
  return object - core::kHeaderSize;
}

constexpr uint32_t kEmergencyBytes = 256 << 10;
// The first text of a stack trace takes one array of hundreds of kilobytes.
constexpr uint32_t kEmergencyLargeBytes = core::kHugeObject;
// What a thread allocates next after it has met a failure is the handling. What succeeds in between, where something smaller still has room, ends it not.
constexpr int64_t kHandlingBytes = 1 << 20;

// Everything that can be given back. Promotion needs a block before it frees some.
void give_back() noexcept {
  uint32_t emergency = std::exchange(thread_heap.emergency, kEmergencyBytes);
  maintain(true, false);
  thread_heap.emergency = emergency;
}

void find_addresses() noexcept {
  uint64_t seen = state.address_remaps.begun();
  if (are_addresses_exhausted()) state.address_remaps.once_since(seen, []() noexcept { dedangle(true); });
}

struct QuickRound {
  uint64_t seen;  // how many had been begun
  bool own;
};

// What may be done on a thread whose allocation has failed, unless another thread has begun it since `seen` of them had.
void make_quick_round(void* quick_round) noexcept {
  auto& round = *static_cast<QuickRound*>(quick_round);
  round.own = state.quick_rounds.once_since(round.seen, []() noexcept {
    maintain(true, true);
    state.missed_round.store(thread_heap.missed_round, std::memory_order_relaxed);
  });
  if (!round.own) thread_heap.missed_round = state.missed_round.load(std::memory_order_relaxed);
}

// The same, and what waits for others, where they may stop this thread.
void make_whole_round(void* seen) noexcept {
  state.whole_rounds.once_since(*static_cast<uint64_t*>(seen), give_back);
  find_addresses();
}

// What the first `made` reclaims have deleted.
void give_back_reclaimed(uint64_t made) noexcept {
  auto is_needed = [made]() noexcept { return state.reclaims_given_back < made; };
  state.whole_rounds.if_needed(is_needed, []() noexcept {
    state.reclaims_given_back = reclaims();
    give_back();
  });
  find_addresses();
}

// A thread's tries to find room by deleting what no root reaches.
struct Reclaiming {
  uint64_t seen;  // markings of all threads whose memory was given back
  bool marked;
  uint64_t allocated;  // by all threads, when this one had marked

  // Others may have used up what the last marking gave, and forgotten it.
  bool can_give_more() const noexcept { return !marked || reclaims() != seen || thread_totals().allocated_bytes >= allocated + limit() / 16; }
};

// Of one marking.
struct Outcome {
  bool by_others;
  bool is_little;    // compared with the limit, what it deleted
  bool may_be_held;  // by finalizers that have not run: the rest
};

constexpr uint64_t kMicrosecondsBetweenLooks = 200;

// Threads that reach the limit together make one marking.
Outcome mark_once(Reclaiming& tries) noexcept {
  os::LockGuard guard(reclaim_lock);
  // What a marking under way deletes may be enough; a second one behind it would look at all again. Not longer than a young one and one of all objects: where markings have no memory, they end without being one.
  uint64_t ended = noted_reclaims();
  while (is_reclaiming() && reclaims() == tries.seen && noted_reclaims() < ended + 2) os::pause(kMicrosecondsBetweenLooks);
  uint64_t made = reclaims();
  if (made != tries.seen) {
    tries.seen = made;
    return {true, false, false};
  }
  tries.marked = true;
  uint64_t live = thread_totals().live_bytes(), finalizable = reachability_counters.finalizable.load(std::memory_order_relaxed);
  bool waited = finalizable_count() != 0;  // a finalizer for its turn, since another marking: its object is not found by this one
  reclaim();
  ThreadTotals totals = thread_totals();
  tries.allocated = totals.allocated_bytes;
  bool some_found = finalizable != reachability_counters.finalizable.load(std::memory_order_relaxed) || dead_locks() != 0;
  return {false, live < totals.live_bytes() + limit() / 16, some_found || waited};
}

// One of them, where others may stop this thread. It is not made if another thread has made one: what that has deleted is given back.
void reclaim_once(void* reclaiming) noexcept {
  auto& tries = *static_cast<Reclaiming*>(reclaiming);
  Outcome outcome = mark_once(tries);
  if (outcome.by_others) return give_back_reclaimed(tries.seen);
  if (!outcome.is_little || !outcome.may_be_held) return;
  wait_for_finalizers();
  state.second_markings.once_since(state.second_markings.begun(), []() noexcept { reclaim(); });
}

// An allocation failed that what throws an OutOfMemoryException may have made: the runtime throws again, deeper in the stack, by the frames of a dispatch
// at least. Where this does not end, the stack would overflow.
void refuse_endless_throwing() noexcept {
  constexpr uint32_t kDeepest = 32;
  constexpr uintptr_t kDispatch = 512;  // some 900 bytes were seen
  auto depth = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  thread_heap.nested_failures = depth + kDispatch < thread_heap.last_failure ? thread_heap.nested_failures + 1 : 0;
  thread_heap.last_failure = depth;
  if (thread_heap.nested_failures == kDeepest)
    os::fail_fast("out of memory, and nothing is left to throw an OutOfMemoryException with.",
                  "Raise FREEHOLD_HEAP_LIMIT or FREEHOLD_MEMORY_LIMIT, or the limit of the process, or delete more.");
}

// Null: the object is an ordinary one.
uint8_t* allocate_guarded(AllocationContext* context, size_t size, uint32_t flags) noexcept {
  if ((flags & (kAllocPinned | kAllocLarge)) != 0 || !is_guard_due(context, size)) return nullptr;
  uint8_t* start = take_guarded_page(size);
  if (start == nullptr) {
    note_guard_refused();
    return nullptr;
  }
  note_guard_taken(size);
  add_allocated(context, size);
  if (thread_heap.scopes != nullptr) note_object_of_scope(start, size);
  return start;
}

// FREEHOLD_SAMPLE=1: whatever follows an object that is not guarded would be allocated without a choice.
void leave_no_room(AllocationContext* context) noexcept {
  auto rest = static_cast<size_t>(context->alloc_limit - context->alloc_ptr);
  if (context != thread_heap.context || rest == 0) return;
  fill(context->alloc_ptr - core::kHeaderSize, rest);
  context->alloc_ptr += rest;
  context->alloc_bytes -= static_cast<int64_t>(rest);
}

Given given_before(const AllocationContext* context) noexcept { return core::knobs.samples_allocations() ? given_to(context) : Given{}; }

void* finish_allocation(AllocationContext* context, Given given, uint8_t* start, size_t size, uint32_t flags) noexcept {
  if (core::knobs.samples_allocations() && sample_allocation(context, given, start, size)) [[unlikely]]
    plan_look(context);
  if ((flags & kAllocFinalize) != 0) core::note_finalizable(arena.block_index(reinterpret_cast<uintptr_t>(start)));
  return start + core::kHeaderSize;
}

}  // namespace

void* allocate(AllocationContext* context, size_t size, uint32_t flags) noexcept {
  if (size >= arena.size / 4) return nullptr;
  if (thread_heap.context == nullptr) {
    register_thread();
    thread_heap.context = context;
  }
  if (core::knobs.guards_samples()) [[unlikely]] {
    // Before the state of an emergency is touched: in one, nothing is guarded.
    Given given = given_before(context);
    if (uint8_t* start = allocate_guarded(context, size, flags); start != nullptr) return finish_allocation(context, given, start, size, flags);
    if (size <= shared_at_most() && (flags & kAllocPinned) == 0 && is_guard_shift_due(context)) shift_for_guarded(context, size, false);
  }
  uint32_t emergency = thread_heap.emergency;
  thread_heap.emergency = 0;
  if ((emergency | thread_heap.emergency_large) != 0 && allocated_by(context) >= thread_heap.recovered_at) [[unlikely]]
    emergency = thread_heap.emergency_large = 0;
  if (thread_heap.is_shift_due && size <= shared_at_most()) [[unlikely]]
    shift_allocations(context);
  Given given = given_before(context);
  Reclaiming reclaiming = {reclaims(), false, 0};
  uint8_t* start = try_allocate(context, size, flags);
  // The other heaps of the process first.
  if (uint64_t wanted = std::max<uint64_t>(size, core::kBlockSize); start == nullptr && size > emergency && is_short_of_budget(wanted)) {
    call_where_threads_stop([](void* bytes) noexcept { ask_for_room(*static_cast<uint64_t*>(bytes)); }, &wanted);
    start = try_allocate(context, size, flags);
  }
  // What was deleted already, and only waits for its memory to go, is nearer than what a round finds.
  if (start == nullptr && has_listed_huge()) {
    call_where_threads_stop([](void*) noexcept { end_listed_huge(); }, nullptr);
    start = try_allocate(context, size, flags);
  }
  if (start == nullptr) {
    // Before the program sees an OutOfMemoryException: give back everything that can be. Promotion needs a block before it frees some.
    thread_heap.missed_round = false;
    // It takes time, and no stop is to wait for it.
    // What another thread's round gave, others may have used up: that is another failure, for another round.
    for (int tries = 3; start == nullptr && tries > 0; tries--) {
      thread_heap.emergency = kEmergencyBytes;
      uint64_t allocated = thread_totals().allocated_bytes;
      QuickRound round = {state.quick_rounds.begun(), true};
      if (!call_where_threads_stop(make_quick_round, &round)) maintain(true, true);
      thread_heap.emergency = 0;
      start = try_allocate(context, size, flags);
      if (round.own || thread_totals().allocated_bytes == allocated) break;
    }
  }
  // What could not be done where others wait for this thread to stop: another thread's round or remap was under way, or only a stop tells what is pinned. Not
  // for what the emergency's memory has room for: each of these would do it again while an exception is thrown.
  if (start == nullptr && size > emergency && (thread_heap.missed_round || has_blocks_that_wait_for_pins() || are_addresses_exhausted())) {
    uint64_t seen = state.whole_rounds.begun();
    call_where_threads_stop(make_whole_round, &seen);
    start = try_allocate(context, size, flags);
  }
  // What the program has forgotten, at last, unless it would not fit into an empty heap: the threads stop for it. Others may use up what it gave before this
  // one comes to its turn.
  if (core::knobs.reclaims() && size > emergency && size <= own_limit()) {
    for (int tries = 16; start == nullptr && tries > 0 && reclaiming.can_give_more(); tries--) {
      call_where_threads_stop(reclaim_once, &reclaiming);
      start = try_allocate(context, size, flags);
    }
  }
  if (start == nullptr) note_limit_reached();
  bool large_in_reserve = size > emergency && size > shared_at_most() && size <= thread_heap.emergency_large && has_room_for_large();
  if (start != nullptr) {
    thread_heap.emergency = emergency;
  } else if (size <= emergency || large_in_reserve) {
    // The runtime allocates while it throws, and would throw again, without end.
    thread_heap.emergency = kEmergencyBytes;
    start = try_allocate(context, size, flags);
    // A chunk serves many allocations that are not seen here.
    if (large_in_reserve) thread_heap.emergency_large -= static_cast<uint32_t>(size);
    else emergency -= static_cast<uint32_t>(std::min<size_t>(emergency, core::align_up(size, core::kWindowSize)));
    thread_heap.emergency = emergency;
    if (start == nullptr) refuse_endless_throwing();
  } else {
    thread_heap.emergency = kEmergencyBytes;
    thread_heap.emergency_large = kEmergencyLargeBytes;
    thread_heap.recovered_at = allocated_by(context) + kHandlingBytes;
  }
  if (start == nullptr) return nullptr;
  if (core::knobs.sample == 1 && size > kGuardedAtMost && emergency == 0) [[unlikely]]
    leave_no_room(context);
  return finish_allocation(context, given, start, size, flags);
}

void forget_reclaiming_thread() noexcept {
  new (&reclaim_lock) os::Lock();
  for (SharedWork* work : {&state.quick_rounds, &state.whole_rounds, &state.address_remaps, &state.second_markings}) work->forget();
}

bool extend(AllocationContext* context, size_t size) noexcept {
  if (core::knobs.sample == 1) [[unlikely]]
    return false;
  if (core::knobs.guards_samples() && (is_guard_due(context, size) || is_guard_shift_due(context))) [[unlikely]]
    return false;
  return size <= shared_at_most() && !is_sample_due(context) && extend_window(context, size);
}

void retire(AllocationContext* context) noexcept {
  {
    MaintenancePause pause;  // a thread that ends is not stopped by the verifier
    close_chunk(context);
  }
  close_scopes();
  // A thread that only deleted has no context here.
  if (thread_heap.context == context || thread_heap.context == nullptr) unregister_thread();
}

}  // namespace freehold::heap
