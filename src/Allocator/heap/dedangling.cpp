#include "heap/dedangling.h"

#include <algorithm>
#include <new>

#include "core/arena.h"
#include "core/fault_counters.h"
#include "core/fault_recovery.h"
#include "core/knobs.h"
#include "core/module_state.h"
#include "core/object.h"
#include "core/references.h"
#include "core/stop_spacing.h"
#include "heap/accounting.h"
#include "heap/addresses.h"
#include "heap/allocation_samples.h"
#include "heap/block_evacuation.h"
#include "heap/block_pool.h"
#include "heap/block_walk.h"
#include "heap/cards.h"
#include "heap/death_samples.h"
#include "heap/finalization_queue.h"
#include "heap/forwarding.h"
#include "heap/moved_references.h"
#include "heap/phases.h"
#include "heap/scope_notes.h"
#include "heap/scope_ranges.h"
#include "heap/trace.h"
#include "heap/walk.h"
#include "os/kernel.h"

namespace freehold::heap {

using core::arena;
using core::BlockKind;
using core::BlockRecord;
using core::BlockState;
using core::Object;

RemapCounters remap_counters;
FREEHOLD_MODULE_STATE(remap_counters);

namespace {

struct Moved {
  std::atomic<uint8_t*> destination{nullptr};
  size_t size = 0;
};
constexpr size_t kLeftOverAtMost = 4096;

struct State {
  const RemapSupport* support = nullptr;
  std::atomic<uint64_t> last_remap{0};  // nanoseconds; when there were tables to look at first, if no remap has been
  std::atomic<uint64_t> repairs_at_last_remap{0};
  // After remaps that had to be abandoned, none begins before that time: each is a walk over the heap beside slower barriers. In nanoseconds; so many in a row.
  std::atomic<uint64_t> not_before{0}, not_before_if_short{0};
  uint32_t abandoned = 0;
  // Moves whose destination could not be looked at beside running threads, for the second stop.
  Moved left_over[kLeftOverAtMost];
  std::atomic<size_t> left_over_count{0};
  std::atomic<bool> moved_outside{false};  // a destination was not in the arena
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

bool is_old(uint64_t name) noexcept { return arena.in_lower_half(name) && whereabouts_of(name) == Whereabouts::kMoved; }

// A field, while threads may write to it.
void make_current(uint64_t* slot, uint64_t* patched) noexcept {
  uint64_t value;
  bool swapped;
  if (!core::try_load(slot, &value)) return;
  if (is_scanning_addresses()) note_name(value);
  if (!is_old(value)) return;
  if (core::try_compare_and_swap(slot, value, current_address(value), &swapped) && swapped) (*patched)++;
}

void make_object_current(uint8_t* start, const Walked& walked, uint64_t* patched) noexcept {
  core::for_each_reference(Object::at(start), walked.type, walked.size, [patched](uint64_t* slot) noexcept { make_current(slot, patched); });
}

// All objects of the heap that can be read. What is allocated from now on is filled through barriers, so that a walk may end at what is no object yet:
// whatever follows there in its chunk is younger.
void walk_heap(uint64_t* patched) noexcept {
  auto has_memory = [](const BlockRecord& record) noexcept {
    BlockState state = record.state.load(std::memory_order_acquire);
    return state == BlockState::kLive || state == BlockState::kPooled;
  };
  for_each_lower_block([&](size_t block) noexcept {
    if (!has_memory(arena.blocks[block])) return;
    walk_block<Pages::kWithMemory>(block, [patched](uint8_t* start, const Walked& walked) noexcept {
      if (walked.step == Step::kObject) make_object_current(start, walked, patched);
    });
  });
  for_each_upper_block([&](size_t block) noexcept {
    const BlockRecord& record = arena.blocks[block];
    if (record.kind != BlockKind::kHuge || !has_memory(record)) return;
    Walked walked = look_at(arena.block_start(block));
    if (walked.step == Step::kObject) make_object_current(arena.block_start(block), walked, patched);
  });
}

void make_frozen_current(uint64_t* patched) noexcept {
  state.support->for_each_frozen(
      [](uint8_t* begin, uint8_t* end, void* argument) {
        walk_frozen(begin, end, [argument](Object* object, size_t size) noexcept {
          core::for_each_reference(object, object->type, size, [argument](uint64_t* slot) noexcept { make_current(slot, static_cast<uint64_t*>(argument)); });
        });
      },
      patched);
}

// Every word of [begin, end) that can be read, whatever it is.
void note_words(const uint64_t* begin, const uint64_t* end) noexcept {
  uint64_t value;
  for (; begin < end; begin++) {
    if (core::try_load(begin, &value)) note_name(value);
    else begin = reinterpret_cast<const uint64_t*>(reinterpret_cast<uintptr_t>(begin) | (core::kPageSize - sizeof(uint64_t)));
  }
}

// What shares pages: any word that can be read may be a field of a deleted object whose header has no memory any more, where no walk comes by. Not by
// BlockRecord::released: pages that are about to lose their memory may keep it, for a pin. What is handed out from now on is filled through barriers.
void note_names_in_heap() noexcept {
  for_each_lower_block([](size_t block) noexcept {
    const BlockRecord& record = arena.blocks[block];
    BlockState state = record.state.load(std::memory_order_acquire);
    if (state != BlockState::kLive && state != BlockState::kPooled) return;
    uint64_t initialised = record.initialised.load(std::memory_order_acquire);
    for (size_t page = 0; page < core::kPagesPerBlock; page++) {
      if ((initialised >> (page * core::kPageSize / core::kWindowSize) & 1) == 0) continue;
      auto* words = reinterpret_cast<const uint64_t*>(arena.block_start(block) + page * core::kPageSize);
      note_words(words, words + core::kPageSize / sizeof(uint64_t));
    }
  });
}

// The fields within a destination. False: the object there was not found.
bool make_moved_current(uint8_t* destination, size_t size, uint64_t* patched) noexcept {
  Object* object = find_object(reinterpret_cast<uintptr_t>(destination));
  if (object == nullptr) return false;
  Walked walked = look_at(object->start());
  if (walked.step != Step::kObject) return false;
  auto* begin = reinterpret_cast<uint64_t*>(destination);
  core::for_each_reference_between(object, walked.type, walked.size, begin, begin + size / sizeof(uint64_t),
                                   [patched](uint64_t* slot) noexcept { make_current(slot, patched); });
  return true;
}

struct Remap {
  uint64_t fields = 0;
  bool complete = false;
  uint64_t stopped_at = 0;
};

void make_root_current(uint64_t* slot) noexcept {
  uint64_t current = current_address(*slot);
  if (is_scanning_addresses()) note_name(current);
  if (current == *slot) return;
  *slot = current;
  remap_counters.roots.fetch_add(1, std::memory_order_relaxed);
}

// Threads are stopped, what they hold is current.
void finish(void* argument) noexcept {
  auto& remap = *static_cast<Remap*>(argument);
  set_threads_stopped(true);
  forget_own_ranges();
  for_each_finalizable([](uint64_t* slot, void*) { make_root_current(slot); }, nullptr);
  refresh_samples();
  refresh_death_samples();
  if (state.moved_outside.load(std::memory_order_relaxed)) make_frozen_current(&remap.fields);
  size_t count = state.left_over_count.load(std::memory_order_relaxed);
  remap.complete = count <= kLeftOverAtMost;
  for (size_t i = 0; i < count && remap.complete; i++) {
    uint8_t* destination = state.left_over[i].destination.load(std::memory_order_relaxed);
    // Not found: its memory is gone, or its header is.
    if (destination != nullptr) make_moved_current(destination, state.left_over[i].size, &remap.fields);
  }
  set_threads_stopped(false);
  set_remapping(false);
}

bool timed_stop(void (*patch)(uint64_t* slot), void (*stopped)(void*), void* argument) noexcept {
  core::leave_threads_their_time();
  uint64_t before = os::nanoseconds();
  bool done = state.support->stop(patch, stopped, argument);
  uint64_t took = os::nanoseconds() - before;
  if (took > remap_counters.longest_stop.load(std::memory_order_relaxed)) remap_counters.longest_stop.store(took, std::memory_order_relaxed);
  trace(TraceKind::kRemapStop, took);
  return done;
}

}  // namespace

void set_remap_support(const RemapSupport* support) noexcept { state.support = support; }

bool call_where_threads_stop(void (*work)(void* argument), void* argument) noexcept {
  if (state.support == nullptr || state.support->call_where_threads_stop == nullptr) return false;
  state.support->call_where_threads_stop(work, argument);
  return true;
}

bool remap(bool scan_addresses) noexcept {
  size_t tables = forwarding_bytes();
  if (state.support == nullptr || (tables == 0 && !scan_addresses)) return false;
  const uint64_t begun = os::nanoseconds();
  state.left_over_count.store(0, std::memory_order_relaxed);
  state.moved_outside.store(false, std::memory_order_relaxed);
  for (Moved& moved : state.left_over) moved.destination.store(nullptr, std::memory_order_relaxed);
  if (scan_addresses) begin_address_scan();
  set_remapping(true);
  if (!timed_stop(nullptr, [](void*) {}, nullptr)) {
    set_remapping(false);
    if (scan_addresses) end_address_scan(false);
    return false;
  }
  Remap remap;
  walk_heap(&remap.fields);
  if (scan_addresses) note_names_in_heap();
  make_frozen_current(&remap.fields);
  bool stopped = timed_stop(make_root_current, finish, &remap);
  set_remapping(false);
  remap_counters.fields.fetch_add(remap.fields, std::memory_order_relaxed);
  state.last_remap = os::nanoseconds();
  state.repairs_at_last_remap = core::fault_counters.repairs.load(std::memory_order_relaxed);
  if (scan_addresses) {
    MaintenancePause pause;
    end_address_scan(stopped && remap.complete);
  }
  if (!stopped || !remap.complete) {
    constexpr uint64_t kTimesItTook = 10, kAtMost = 10'000'000'000;
    constexpr uint32_t kDoublings = 6;
    const uint64_t took = state.last_remap - begun;
    remap_counters.abandoned.fetch_add(1, std::memory_order_relaxed);
    state.abandoned = std::min(state.abandoned + 1, kDoublings);
    state.not_before.store(state.last_remap + std::min(took * kTimesItTook << (state.abandoned - 1), kAtMost), std::memory_order_relaxed);
    state.not_before_if_short.store(state.last_remap + std::min(took, kAtMost), std::memory_order_relaxed);
    return false;
  }
  state.abandoned = 0;
  state.not_before.store(0, std::memory_order_relaxed);
  state.not_before_if_short.store(0, std::memory_order_relaxed);
  {
    MaintenancePause pause;  // the verifier counts blocks by their states
    retire_forwarded();
    drop_all_forwardings();
    if (core::knobs.stress.reuse) collapse_moved(0);
  }
  remap_counters.remaps.fetch_add(1, std::memory_order_relaxed);
  remap_counters.tables.fetch_add(tables, std::memory_order_relaxed);
  return true;
}

bool should_remap() noexcept {
  if (are_addresses_short()) return os::nanoseconds() >= state.not_before_if_short.load(std::memory_order_relaxed);
  size_t tables = forwarding_bytes();
  if (tables == 0 || os::nanoseconds() < state.not_before.load(std::memory_order_relaxed)) return false;
  constexpr size_t kTablesAtLeast = size_t{1} << 20;
  // Each keeps a kernel mapping and an entry of every walk over the blocks.
  constexpr uint64_t kForwardedAtMost = 4096;
  constexpr uint64_t kRepairNanoseconds = 4000, kRepairsAtLeast = 1000;
  if (tables > kTablesAtLeast && tables > resident_memory() / 16) return true;
  if (block_counters.forwarded.load(std::memory_order_relaxed) > kForwardedAtMost) return true;
  uint64_t last = state.last_remap.load(std::memory_order_relaxed);
  if (last == 0) {
    uint64_t now = os::nanoseconds();
    if (state.last_remap.compare_exchange_strong(last, now, std::memory_order_relaxed)) last = now;
  }
  // Faults take more than 12.5% of the time of one thread (Kedia et al.).
  uint64_t repairs = core::fault_counters.repairs.load(std::memory_order_relaxed) - state.repairs_at_last_remap.load(std::memory_order_relaxed);
  return repairs > kRepairsAtLeast && repairs * kRepairNanoseconds * 8 > os::nanoseconds() - last;
}

}  // namespace freehold::heap

extern "C" void freehold_after_move(uint8_t* destination, const uint8_t*, size_t size) noexcept {
  using namespace freehold::heap;
  if (is_marking_cards()) mark_cards(destination, size);
  uint8_t remapping = __atomic_load_n(&freehold_remapping, __ATOMIC_RELAXED);
  if (is_noting_stores()) note_moved_into(reinterpret_cast<uintptr_t>(destination), size);
  if ((remapping & 3) == 0) return;
  if (is_marking()) return shade_moved(destination, size);
  if (is_scanning_addresses()) {
    auto* moved = reinterpret_cast<const uint64_t*>(current_address(reinterpret_cast<uintptr_t>(destination)));
    note_words(moved, moved + size / sizeof(uint64_t));
  }
  if (!freehold::core::arena.contains(reinterpret_cast<uintptr_t>(destination))) {
    state.moved_outside.store(true, std::memory_order_relaxed);
    return;
  }
  uint64_t patched = 0;
  if (make_moved_current(destination, size, &patched)) {
    if (patched != 0) remap_counters.fields.fetch_add(patched, std::memory_order_relaxed);
    return;
  }
  size_t index = state.left_over_count.fetch_add(1, std::memory_order_relaxed);
  if (index >= kLeftOverAtMost) return;
  state.left_over[index].size = size;
  state.left_over[index].destination.store(destination, std::memory_order_release);
}
