#include "heap/promotion.h"

#include <time.h>

#include <algorithm>
#include <new>

#include "Platform/lock.h"
#include "core/arena.h"
#include "core/knobs.h"
#include "core/module_state.h"
#include "core/stop_spacing.h"
#include "core/stress.h"
#include "heap/accounting.h"
#include "heap/addresses.h"
#include "heap/dedangling.h"
#include "heap/evacuation.h"
#include "heap/noted_fields.h"
#include "heap/pacing.h"
#include "heap/phases.h"
#include "heap/pins.h"
#include "heap/promotion_counters.h"
#include "heap/promotion_policy.h"
#include "heap/reclaim_policy.h"
#include "heap/round_memory.h"
#include "heap/selection.h"
#include "heap/thread_heap.h"
#include "heap/trace.h"
#include "os/kernel.h"

namespace freehold::heap {

using core::arena;

PromotionCounters promotion_counters;
FREEHOLD_MODULE_STATE(promotion_counters);

namespace {

// Stops of a round for one block each, and for how many blocks the next one is: threads that pin all the time would else be stopped most of the time.
constexpr size_t kStopsForOne = 16, kRetriesOfNextStop = 8;

struct State {
  uint32_t remaps_refused = 0;                         // under promotion_lock
  std::atomic<uint64_t> gave_way_after{~uint64_t{0}};  // so many reclaims, as gives_way_to_reclaim() answered last
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

// A round of the thread that reclaims would copy what a reclaim that is due finds dead. Once before each reclaim: where they are always due, rounds have their turn too.
bool gives_way_to_reclaim() noexcept {
  if (!core::stops_are_spaced || !is_reclaim_waiting()) return false;
  uint64_t made = noted_reclaims();
  return state.gave_way_after.exchange(made, std::memory_order_relaxed) != made;
}

uint64_t processor_time() noexcept {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

bool has_handle_pins(size_t block) noexcept { return arena.blocks[block].handle_pins.load(std::memory_order_relaxed) != 0; }
bool has_stack_pins(size_t block) noexcept { return arena.blocks[block].stack_pins.load(std::memory_order_relaxed) != 0; }

// Blocks that something may have been pinned in since they were filled: one short stop tells which of them are pinned now.
template <typename BlockAt>
void ask_for_pins(size_t blocks, BlockAt block_at) noexcept {
  bool any = false;
  for (size_t i = 0; i < blocks && !any; i++) any = has_stack_pins(block_at(i));
  if (!any) return;
  struct Question {
    size_t blocks;
    BlockAt& block_at;
  } question = {blocks, block_at};
  refresh_stack_pins(
      [](void* argument) {
        const auto& question = *static_cast<const Question*>(argument);
        for (size_t i = 0; i < question.blocks; i++) forget_stack_pins(question.block_at(i));
      },
      &question);
}

class Round {
 public:
  uint64_t run(PromotionScope scope, bool may_stop) noexcept {
    if (!selection_.take_memory(memory_) || !evacuation_.take_memory(memory_)) return 0;
    selection_.choose(scope, block_of_copies(), memory_);
    if (selection_.count() == 0) return 0;
    if (may_stop) ask_for_pins(selection_.count(), [&](size_t i) noexcept { return selection_.at(i).block; });
    // Not before: a stop would wait for those who wait for frames (a third of a millisecond, as those of a remap do).
    note_blocks_to_come(selection_.count());
    last_lap_ = processor_time();
    find_references();
    promote_chosen(may_stop);
    selection_.forget();
    return evacuation_.objects();
  }

 private:
  void find_references() noexcept;
  void promote_chosen(bool may_stop) noexcept;
  void look_at_stores() noexcept;
  bool try_to_promote(const Chosen& chosen, bool claimed = false) noexcept;
  void retry(uint32_t* to_retry, size_t retries) noexcept;
  bool claim_in_stop(uint32_t* to_retry, size_t retries) noexcept;
  // Adds the processor time since the last call.
  void lap(std::atomic<uint64_t>& counter) noexcept {
    uint64_t now = processor_time();
    count(counter, now - last_lap_);
    last_lap_ = now;
  }

  // Blocks that are promoted before it is looked again what was stored meanwhile: so many at least, and so many times at most, as each look goes through the cards of the heap.
  static constexpr size_t kLeastStretch = 8, kStretches = 32;
  // A bit of an index of a block to retry.
  static constexpr uint32_t kPinnedInStop = 1u << 31;

  RoundMemory memory_;
  Selection selection_;
  FieldCollector fields_{selection_, memory_};
  Evacuation evacuation_{fields_};
  uint64_t last_lap_ = 0;
};

void Round::find_references() noexcept {
  bool is_short = selection_.is_short();
  if (!core::knobs.stress.fault) {
    fields_.begin(is_short);
    if (is_short) fields_.collect_from_cards();
    else fields_.collect_from_all();
  }
  note_walk(is_short, fields_.cards());
  if (is_short) count(promotion_counters.short_rounds, 1);
  count(promotion_counters.cards, fields_.cards());
  lap(promotion_counters.walk_time);
}

bool Round::try_to_promote(const Chosen& chosen, bool claimed) noexcept {
  bool promoted = claimed ? evacuation_.promote_claimed(chosen.block) : evacuation_.promote_block(chosen.block);
  lap(promotion_counters.copy_time);
  if (!promoted) return false;
  core::stress_step();
  fields_.patch(chosen);
  lap(promotion_counters.patch_time);
  return true;
}

void Round::promote_chosen(bool may_stop) noexcept {
  const size_t count = selection_.count();
  auto* to_retry = static_cast<uint32_t*>(memory_.take(count * sizeof(uint32_t)));
  size_t retries = 0;
  // What was stored since the walk is looked at before the first block is promoted, and again and again.
  const size_t stretch = count / kStretches < kLeastStretch ? kLeastStretch : count / kStretches;
  for (size_t i = 0; i < count && !evacuation_.is_exhausted(); i++) {
    if (i % stretch == 0) look_at_stores();
    bool promoted = try_to_promote(selection_.at(i));
    note_blocks_to_come(count - i - 1);
    if (promoted) continue;
    if (!core::knobs.stress.fault) fields_.collect_from(selection_.at(i).block);
    lap(promotion_counters.walk_time);
    if (may_stop && to_retry != nullptr && has_stack_pins(selection_.at(i).block)) {
      to_retry[retries++] = static_cast<uint32_t>(i);
    } else {
      heap::count(promotion_counters.refused, 1);
    }
  }
  note_blocks_to_come(0);
  retry(to_retry, retries);
  look_at_stores();
  if (!core::knobs.stress.fault) fields_.end();
}

// What was pinned after the stop mostly is not any more. But a server writes the same strings to its clients all the time: a block of them is marked again before its turn comes. So a stop tells of
// all blocks that are left what is pinned, and claims the first: it is not pinned again. Blocks that are pinned in a stop are left alone.
void Round::retry(uint32_t* to_retry, size_t retries) noexcept {
  size_t stops = 0, next_stop = 0, distance = kRetriesOfNextStop;
  for (size_t i = 0; i < retries && !evacuation_.is_exhausted(); i++) {
    bool claimed = false;
    size_t block = selection_.at(to_retry[i] & ~kPinnedInStop).block;
    // Who waits for the end of the round, a reclaim among them, cannot wait for stop after stop.
    bool is_round_waited_for = promotion_lock.is_wanted() || place_lock.is_wanted();
    if ((to_retry[i] & kPinnedInStop) == 0 && has_stack_pins(block) && !has_handle_pins(block) && i >= next_stop && !is_round_waited_for) {
      claimed = claim_in_stop(to_retry + i, retries - i);
      if (++stops >= kStopsForOne) {
        next_stop = i + distance;
        distance *= 2;
      }
    }
    if (!try_to_promote(selection_.at(to_retry[i] & ~kPinnedInStop), claimed)) heap::count(promotion_counters.refused, 1);
  }
}

bool Round::claim_in_stop(uint32_t* to_retry, size_t retries) noexcept {
  struct Question {
    Round& round;
    uint32_t* to_retry;
    size_t retries;
    bool claimed;
  } question = {*this, to_retry, retries, false};
  refresh_stack_pins(
      [](void* argument) {
        auto& question = *static_cast<Question*>(argument);
        Round& round = question.round;
        for (size_t i = 0; i < question.retries; i++) {
          size_t block = round.selection_.at(question.to_retry[i] & ~kPinnedInStop).block;
          if (!has_stack_pins(block)) continue;
          forget_stack_pins(block);
          if (has_stack_pins(block)) question.to_retry[i] |= kPinnedInStop;
        }
        question.claimed = round.evacuation_.claim_in_stop(round.selection_.at(question.to_retry[0] & ~kPinnedInStop).block);
      },
      &question);
  return question.claimed;
}

// A thread that stores a name which it has read before the block moved leaves a field for somebody to fault on.
void Round::look_at_stores() noexcept {
  if (core::knobs.stress.fault) return;
  uint64_t before = fields_.cards();
  fields_.collect_from_cards();
  heap::count(promotion_counters.cards_again, fields_.cards() - before);
  lap(promotion_counters.walk_time);
}

}  // namespace

uint64_t promote(PromotionScope scope, bool may_stop) noexcept {
  // In debug mode every object has pages of its own.
  if (core::knobs.debug || !core::knobs.promotion) return 0;
  if (may_stop) core::leave_threads_their_time();
  if (scope == PromotionScope::kFragmented && may_stop && gives_way_to_reclaim()) return 0;
  MovingTurn turn(may_stop);
  core::UnspacedStops unspaced;  // ends of scopes, forks and threads at the limit wait for the turn
  if (!turn.has_turn()) {
    thread_heap.missed_round = true;
    return 0;  // who has it may be waiting for this thread to stop
  }
  note_round();
  count(promotion_counters.rounds, 1);
  uint64_t before = is_tracing() ? os::nanoseconds() : 0, bytes = promotion_counters.bytes.load(std::memory_order_relaxed);
  Round round;
  uint64_t moved = round.run(scope, may_stop);
  if (before != 0) trace(TraceKind::kCompaction, os::nanoseconds() - before, moved, promotion_counters.bytes.load(std::memory_order_relaxed) - bytes);
  return moved;
}

bool dedangle(bool scan_addresses) noexcept {
  core::leave_threads_their_time();
  MovingTurn turn(true);
  core::UnspacedStops unspaced;
  if (state.remaps_refused != 0) return false;
  // Promotion waits for it. Threads that would otherwise take new memory meanwhile are paced.
  if (is_fragmented(thread_totals().live_bytes(), compactable_footprint())) note_blocks_to_come(1);
  uint64_t before = is_tracing() ? os::nanoseconds() : 0, fields = remap_counters.fields.load(std::memory_order_relaxed);
  bool remapped = remap(scan_addresses || are_addresses_short() || core::knobs.stress.reuse);
  if (before != 0) trace(TraceKind::kRemap, os::nanoseconds() - before, remap_counters.fields.load(std::memory_order_relaxed) - fields);
  note_blocks_to_come(0);
  return remapped;
}

void refuse_remaps(bool refuse) noexcept {
  os::LockGuard guard(promotion_lock);
  if (refuse) state.remaps_refused++;
  else if (state.remaps_refused != 0) state.remaps_refused--;
}

void promote_for_ever(void (*round_done)(const char*)) noexcept {
  while (true) {
    os::pause(core::knobs.stress.promote);
    promote(PromotionScope::kRandom);
    round_done("promotion");
    if ((core::knobs.stress.dedangle || should_remap()) && dedangle()) round_done("de-dangling");
  }
}

}  // namespace freehold::heap
