#include "heap/selection.h"

#include <algorithm>
#include <bit>

#include "core/arena.h"
#include "core/knobs.h"
#include "core/module_state.h"
#include "core/object.h"
#include "heap/accounting.h"
#include "heap/block_walk.h"
#include "heap/cards.h"
#include "heap/promotion_policy.h"
#include "heap/walk.h"

namespace freehold::heap {

using core::arena;
using core::BlockKind;
using core::BlockRecord;
using core::BlockState;
using core::kBlockSize;
using core::kPagesPerBlock;
using core::kUnit;
using core::kUnitsPerPage;

namespace {

constexpr size_t kChosenAtMost = 32768;
// Sixteenths of a block's memory that are dead before it is worth its copies. Little more than in the average block when a round begins (4.4): a heap whose blocks
// are all of an age would find none for long, and then all of them at once.
constexpr size_t kSparseAt = 5;

struct State {
  uint64_t random_state = 0;  // of the promoting thread
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

uint64_t next_random() noexcept {
  if (state.random_state == 0) state.random_state = core::knobs.stress.seed * 2 + 1;
  state.random_state ^= state.random_state << 13;
  state.random_state ^= state.random_state >> 7;
  state.random_state ^= state.random_state << 17;
  return state.random_state;
}

// Whether every chunk of a block of small objects is used up: the last page of each holds objects to its end. Then the block stays complete, and no
// thread allocates in what is evacuated.
bool is_used_up(size_t block) noexcept {
  const BlockRecord& record = arena.blocks[block];
  uint64_t starts = record.chunk_starts.load(std::memory_order_acquire);
  for (size_t window = 0; window < core::kWindowsPerBlock; window++) {
    bool last = window + 1 == core::kWindowsPerBlock || (starts >> (window + 1) & 1) != 0;
    size_t page = block * kPagesPerBlock + (window + 1) * (core::kWindowSize / core::kPageSize) - 1;
    if (!last || core::is_page_dead(page)) continue;
    const uint8_t* end = arena.page_start(page) + core::kPageSize;
    uint8_t* cursor = first_object(page);
    while (cursor != nullptr && cursor < end) {
      Walked walked = is_walkable(record, cursor) ? look_at(cursor) : Walked{Step::kEnd, 0, 0, nullptr};
      cursor = walked.step == Step::kEnd || walked.size == 0 ? nullptr : cursor + walked.size;
    }
    if (cursor == nullptr) return false;
  }
  return true;
}

}  // namespace

bool Selection::take_memory(RoundMemory& memory) noexcept {
  chosen_ = static_cast<Chosen*>(memory.take(kChosenAtMost * sizeof(Chosen)));
  concerned_ = static_cast<uint8_t*>(memory.take(arena.block_count() / 2));
  return chosen_ != nullptr && concerned_ != nullptr;
}

void Selection::choose(PromotionScope scope, size_t of_copies, RoundMemory& memory) noexcept {
  constexpr size_t kUnitsPerBlock = kBlockSize / kUnit;
  // The emptiest first: sorted by sixteenths of a block.
  constexpr size_t kClasses = 16;
  uint32_t heads[kClasses];
  for (uint32_t& head : heads) head = UINT32_MAX;
  size_t candidates = 0;
  for_each_lower_block([&](size_t block) noexcept {
    if (block == of_copies) return;
    const BlockRecord& record = arena.blocks[block];
    BlockState state = record.state.load(std::memory_order_acquire);
    if (state == BlockState::kForwarded) concerned_[block] = 1;
    if (candidates == kChosenAtMost || state != BlockState::kLive || record.kind != BlockKind::kSmall) return;
    if (record.claimed.load(std::memory_order_acquire) != ~uint64_t{0} || record.initialised.load(std::memory_order_acquire) != ~uint64_t{0}) return;
    // Threads that delete write the counters meanwhile: a choice may be off by what they do, and the evacuation looks at the objects.
    size_t deleted = 0;
    for (size_t page = block * kPagesPerBlock; page < (block + 1) * kPagesPerBlock; page++) deleted += core::noted_dead_units(page);
    // Pages without memory are no gain.
    size_t released = 0;
    for (const auto& word : record.released) released += static_cast<size_t>(std::popcount(word.load(std::memory_order_relaxed))) * kUnitsPerPage;
    size_t live = kUnitsPerBlock - deleted, held = kUnitsPerBlock - std::min(released, deleted), gain = held - live;
    bool wanted = scope == PromotionScope::kAll || (scope == PromotionScope::kRandom ? next_random() % 2 == 0 : gain * 16 >= held * kSparseAt);
    if (!wanted || !is_used_up(block)) return;
    size_t kind = live * kClasses / (held + 1);
    // The list of its class is linked through `fields` until the blocks are in order.
    chosen_[candidates] = {static_cast<uint32_t>(block), static_cast<uint32_t>(gain), reinterpret_cast<NotedFields*>(uintptr_t{heads[kind]})};
    heads[kind] = static_cast<uint32_t>(candidates++);
  });
  auto* sorted = static_cast<Chosen*>(memory.take(candidates * sizeof(Chosen)));
  if (sorted == nullptr) return;
  auto gain = [&](size_t i) noexcept { return size_t{chosen_[i].gain} * kUnit; };
  // Above where this lap of addresses is, blocks are of the lap before (heap/addresses.h), however high their addresses are.
  size_t lap = lap_position();
  auto is_young_block = [lap](size_t block) noexcept { return block < lap && is_young(reinterpret_cast<uintptr_t>(arena.block_start(block))); };
  size_t enough = SIZE_MAX, gain_of_all = 0, gain_of_young = 0;
  for (size_t i = 0; i < candidates; i++) {
    gain_of_all += gain(i);
    if (is_young_block(chosen_[i].block)) gain_of_young += gain(i);
  }
  if (scope == PromotionScope::kFragmented) {
    enough = bytes_to_win();
    note_candidates(gain_of_all >= enough);
    // Not where the old blocks are worth more or have waited for long, nor when marks have become so many that a whole walk, which clears them, costs as much.
    short_ = gain_of_young >= (enough < gain_of_all ? enough : gain_of_all) / 2 && cards_of_last_round() < memory_footprint() / core::kPageSize / 2 &&
             !(gain_of_all - gain_of_young >= enough / 4 && are_old_blocks_due());
  } else {
    short_ = scope == PromotionScope::kYoung || (scope == PromotionScope::kRandom && next_random() % 2 == 0);
  }
  short_ = short_ && is_remembering();
  size_t gained = 0;
  for (uint32_t head : heads) {
    for (uint32_t i = head; i != UINT32_MAX && gained < enough; i = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(chosen_[i].fields))) {
      if (short_ && !is_young_block(chosen_[i].block)) continue;
      gained += gain(i);
      sorted[count_++] = {chosen_[i].block, chosen_[i].gain, nullptr};
    }
  }
  chosen_ = sorted;
  for (size_t i = 0; i < count_; i++) {
    arena.blocks[chosen_[i].block].chosen.store(static_cast<uint16_t>(i + 1), std::memory_order_relaxed);
    concerned_[chosen_[i].block] = 1;
  }
}

void Selection::forget() noexcept {
  for (size_t i = 0; i < count_; i++) arena.blocks[chosen_[i].block].chosen.store(0, std::memory_order_relaxed);
}

}  // namespace freehold::heap
