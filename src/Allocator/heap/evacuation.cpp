#include "heap/evacuation.h"

#include <string.h>

#include <atomic>

#include "core/arena.h"
#include "core/knobs.h"
#include "core/module_state.h"
#include "core/object.h"
#include "core/references.h"
#include "core/stress.h"
#include "heap/addresses.h"
#include "heap/block_evacuation.h"
#include "heap/cards.h"
#include "heap/chunks.h"
#include "heap/phases.h"
#include "heap/promotion_counters.h"
#include "heap/scope_notes.h"
#include "heap/walk.h"
#include "os/kernel.h"

namespace freehold::heap {

using core::arena;
using core::BlockRecord;
using core::kHeaderSize;
using core::kUnit;
using core::Object;

namespace {

struct State {
  AllocationContext target = {};  // where the copies go; the promoting thread's
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

// The type comes last: until then a walk that passes here sees memory that is not used yet.
void copy_object(uint8_t* to, const uint8_t* from, size_t size) noexcept {
  constexpr size_t kBody = kHeaderSize + sizeof(void*);
  memcpy(to + kBody, from + kBody, size - kBody);
  memcpy(to, from, kHeaderSize);
  __atomic_store_n(reinterpret_cast<uint64_t*>(to + kHeaderSize), *reinterpret_cast<const uint64_t*>(from + kHeaderSize), __ATOMIC_RELEASE);
}

bool may_be_pinned(size_t block) noexcept {
  const BlockRecord& record = arena.blocks[block];
  return record.handle_pins.load(std::memory_order_relaxed) != 0 || record.stack_pins.load(std::memory_order_relaxed) != 0;
}

}  // namespace

size_t block_of_copies() noexcept {
  return state.target.chunk_end != nullptr ? arena.block_index(reinterpret_cast<uintptr_t>(state.target.chunk_end) - 1) : kNoBlock;
}

bool Evacuation::take_memory(RoundMemory& memory) noexcept {
  draft_ = static_cast<ForwardingDraft*>(memory.take(sizeof(ForwardingDraft)));
  planned_ = static_cast<Planned*>(memory.take(kPlannedAtMost * sizeof(Planned)));
  return draft_ != nullptr && planned_ != nullptr;
}

// Room for one object behind those that were planned before it. False: no memory, or the copies would lie in three pieces.
bool Evacuation::reserve(size_t size) noexcept {
  bool moves_on = !extend_window(&state.target, size);
  if (moves_on) {
    if (units_ != 0 && draft_->split != UINT32_MAX) return false;
    if (!next_promoted_chunk(&state.target)) {
      exhausted_ = true;
      return false;
    }
    if (!extend_window(&state.target, size)) return false;
  }
  auto to = reinterpret_cast<uintptr_t>(state.target.alloc_ptr - kHeaderSize);
  if (units_ == 0) {
    draft_->target[0] = to;
  } else if (moves_on) {
    draft_->split = units_;
    draft_->target[1] = to;
  }
  state.target.alloc_ptr += size;
  return true;
}

// Where the copy lies before which so many units were planned.
uint8_t* Evacuation::place_of(uint32_t rank) noexcept {
  return reinterpret_cast<uint8_t*>(rank < draft_->split ? draft_->target[0] + size_t{rank} * kUnit : draft_->target[1] + size_t{rank - draft_->split} * kUnit);
}

// Finds the live objects of a block, room for their copies, and notes in the draft where they will go. The program goes on meanwhile: it makes no objects
// in a block that is used up, but it may end some. False: something is no object yet, or no memory; what was reserved is given up.
bool Evacuation::plan(size_t block) noexcept {
  uint8_t* block_start = arena.block_start(block);
  bool good = true;
  *draft_ = {};
  draft_->split = UINT32_MAX;
  planned_count_ = units_ = 0;
  bool complete = walk_block(block, [&](uint8_t* from, const Walked& walked) noexcept {
    if (!is_live(walked) || !good) return;
    good = planned_count_ < kPlannedAtMost && reserve(walked.size);
    if (!good) return;
    auto offset = static_cast<uint32_t>(from - block_start), size = static_cast<uint32_t>(walked.size);
    planned_[planned_count_++] = {offset, size, false};
    size_t first = offset / kUnit, units = size / kUnit;
    for (size_t unit = first; unit < first + units;) {
      size_t in_word = unit % 64, here = 64 - in_word < first + units - unit ? 64 - in_word : first + units - unit;
      draft_->live[unit / 64] |= (here == 64 ? ~uint64_t{0} : (uint64_t{1} << here) - 1) << in_word;
      unit += here;
    }
    units_ += static_cast<uint32_t>(units);
  });
  if (good && complete) return true;
  give_up_plan();
  return false;
}

// Calls function(uint8_t* place, Planned&) for each object planned.
template <typename Function>
void Evacuation::for_each_planned(Function function) noexcept {
  uint32_t rank = 0;
  for (size_t i = 0; i < planned_count_; i++) {
    uint32_t units = planned_[i].size / kUnit;
    function(place_of(rank), planned_[i]);
    rank += units;
  }
}

// The room becomes garbage: an object each, as the pages were told where objects begin.
void Evacuation::give_up_plan() noexcept {
  for_each_planned([](uint8_t* to, const Planned& planned) noexcept { fill(to, planned.size); });
}

// Copies what was planned. The block is protected from writing, and this is all that happens meanwhile.
void Evacuation::copy(size_t block) noexcept {
  const uint8_t* block_start = arena.block_start(block);
  died_ = 0;
  for_each_planned([&](uint8_t* to, Planned& planned) noexcept {
    copy_object(to, block_start + planned.offset, planned.size);
    planned.died = (*reinterpret_cast<const uint32_t*>(to) & core::kDeletedBit) != 0;
    died_ += planned.died ? 1 : 0;
  });
}

// The fields of what was promoted just now: those into blocks promoted before are repaired, this one too, and those into blocks still to come noted.
void Evacuation::collect_from_copies() noexcept {
  for_each_planned([&](uint8_t* start, const Planned& planned) noexcept {
    Walked walked = look_at(start);
    // What its owner has deleted since may have lost its memory too.
    if (is_live(walked) && walked.size == planned.size)
      core::for_each_reference(Object::at(start), walked.type, walked.size, [&](uint64_t* slot) noexcept { fields_.visit(slot); });
  });
}

bool Evacuation::promote_block(size_t block) noexcept {
  MaintenancePause pause;  // what maintenance does with blocks, and the verifier, wait
  // Spares a plan in vain. What is pinned from now on begin_evacuation sees.
  return !may_be_pinned(block) && evacuate(block, false);
}

bool Evacuation::claim_in_stop(size_t block) noexcept {
  // Who has the lock may need it for long, and all threads stand.
  if (may_be_pinned(block) || !maintenance_lock.try_lock()) return false;
  if (claim_for_evacuation(block)) {
    began_ = os::nanoseconds();
    return true;
  }
  maintenance_lock.unlock();
  return false;
}

bool Evacuation::promote_claimed(size_t block) noexcept {
  bool promoted = evacuate(block, true);
  maintenance_lock.unlock();
  return promoted;
}

bool Evacuation::evacuate(size_t block, bool claimed) noexcept {
  if (!plan(block)) {
    if (claimed) end_evacuation(block);
    return false;
  }
  uint32_t forwarding = make_forwarding(*draft_);
  core::stress_step();
  if (forwarding == kNoForwarding) {
    if (claimed) end_evacuation(block);
    give_up_plan();
    return false;
  }
  if (!claimed) began_ = os::nanoseconds();
  // Had the block died since the plan began, it would not live any more, nor ever again.
  if (!(claimed || claim_for_evacuation(block)) || !begin_evacuation(block)) {
    drop_last_forwarding(forwarding);
    give_up_plan();
    return false;
  }
  core::stress_step();
  if (core::may_have_finalizable(block)) {
    // The copies lie in two pieces at most, each in one block.
    for (uintptr_t target : draft_->target) {
      if (target != 0) core::note_finalizable(arena.block_index(target));
    }
  }
  thread_promotes = true;
  copy(block);
  thread_promotes = false;
  core::stress_step();
  if (!forward_block(block, forwarding)) {
    give_up_evacuation(block);
    drop_last_forwarding(forwarding);
    give_up_plan();  // nobody has seen the copies
    return false;
  }
  // Behind the last store to the block and before another that comes after it: whoever notes a place of the block and stores to its copy finds the copy noted too.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (is_noting_stores())
    for_each_planned([](uint8_t* to, const Planned& planned) noexcept { note_scope_pages(reinterpret_cast<uintptr_t>(to), planned.size); });
  // The pages of the old places may be marked, and the next reclaim, which waits for this round, does not look there.
  if (is_remembering_for_reclaims()) for_each_planned([](uint8_t* to, const Planned& planned) noexcept { mark_cards(to, planned.size, Card::kForReclaims); });
  uint64_t took = os::nanoseconds() - began_;
  if (took > promotion_counters.longest_evacuation.load(std::memory_order_relaxed))
    promotion_counters.longest_evacuation.store(took, std::memory_order_relaxed);
  // Deleted before the protection, they count for the old block. Whoever deletes a copy counts it himself.
  if (died_ != 0) {
    for_each_planned([](uint8_t* to, const Planned& planned) noexcept {
      if (planned.died) count_deleted(reinterpret_cast<uintptr_t>(to), planned.size);
    });
  }
  size_t moved = planned_count_ - died_;
  objects_ += moved;
  count(promotion_counters.blocks, 1);
  count(promotion_counters.objects, moved);
  count(promotion_counters.bytes, uint64_t{units_} * kUnit);
  if (!core::knobs.stress.fault) collect_from_copies();
  return true;
}

}  // namespace freehold::heap
