#include "heap/promotion.h"

#include <string.h>
#include <time.h>

#include <new>

#include "core/arena.h"
#include "core/fault_recovery.h"
#include "core/knobs.h"
#include "core/object.h"
#include "core/references.h"
#include "core/stress.h"
#include "heap/blocks.h"
#include "heap/cards.h"
#include "heap/chunks.h"
#include "heap/dedangling.h"
#include "heap/forwarding.h"
#include "heap/heap.h"
#include "heap/maintenance.h"
#include "heap/pins.h"
#include "heap/thread_heap.h"
#include "heap/walk.h"
#include "platform/growing_memory.h"
#include "platform/lock.h"
#include "platform/os.h"

namespace freehold::heap {

using core::arena;
using core::BlockKind;
using core::BlockRecord;
using core::BlockState;
using core::kBlockSize;
using core::kHeaderSize;
using core::kPagesPerBlock;
using core::kUnit;
using core::kUnitsPerPage;
using core::Object;

PromotionCounters promotion_counters;

namespace {

constexpr size_t kChosenAtMost = 32768;
constexpr size_t kScratch = size_t{8} << 30;  // address space for the fields noted; it has memory while a round lasts
constexpr size_t kScratchStep = size_t{2} << 20;
constexpr size_t kRetriesPerStop = 8;  // some milliseconds of copying for each stop
constexpr uint64_t kMicrosecondsBetweenRefreshes = 2000;
constexpr uint64_t kEnoughDeleted = uint64_t{128} << 20;
// What the heap may hold, in sixteenths of its live bytes: when a round begins, when threads wait for one, and what a round leaves. Kedia et al. begin at
// 24, end above 21 and take blocks at least half dead. In the simulator of benchmarks/ less memory took no more time with one thread (new memory has to be
// touched first), and up to 5% with two on two processors.
constexpr uint64_t kFragmentedAt = 22, kPacedAt = 24, kEndAt = 19;
// Sixteenths of a block that are dead before it is worth its copies. Little more than in the average block when a round begins (4.4): a heap whose blocks
// are all of an age would find none for long, and then all of them at once.
constexpr size_t kSparseAt = 5;
// What a heap may hold beyond its share of garbage: the blocks that its threads fill, and those that they are about to empty.
constexpr size_t kSlack = size_t{16} << 20;

os::Lock lock;              // one round at a time; guards what follows
AllocationContext target;   // where the copies go
std::atomic<uint64_t> deleted_at_last_round{0};
// Hints for other threads, relaxed: written under the lock, by the round under way. Nothing is read on the strength of them.
std::atomic<bool> candidates_suffice{false};
std::atomic<bool> last_round_was_short{false};  // so the next one may be cheap too
std::atomic<size_t> blocks_to_come{0};  // that it has chosen and not tried yet; 1 during a sweep that a round waits for
uint64_t cards_of_last_round = 0;  // walked in it
uint64_t random_state = 0;
uint32_t sweeps_held = 0;

void count(std::atomic<uint64_t>& counter, uint64_t more) noexcept { counter.fetch_add(more, std::memory_order_relaxed); }

uint64_t processor_time() noexcept {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

uint64_t next_random() noexcept {
  if (random_state == 0) random_state = core::knobs.stress.seed * 2 + 1;
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state;
}

bool is_live(const Walked& walked) noexcept { return walked.step == Step::kObject && (walked.header & core::kDeletedBit) == 0; }

bool has_stack_pins(size_t block) noexcept { return arena.blocks[block].stack_pins.load(std::memory_order_relaxed) != 0; }

// Memory of one round: handed out from the start, taken back all at once.
class Scratch {
 public:
  Scratch() noexcept { memory_.reserve(); }
  ~Scratch() { memory_.release(); }
  // Aligned for any type.
  void* take(size_t size) noexcept {
    size = core::align_up(size, alignof(max_align_t));
    if (!memory_.reach(used_ + size)) return nullptr;
    void* taken = memory_.start() + used_;
    used_ += size;
    return taken;
  }

 private:
  os::GrowingMemory memory_{kScratch, kScratchStep};
  size_t used_ = 0;
};

struct Slots {
  Slots* next;
  uint64_t count;
  uint64_t* slot[510];
};
static_assert(sizeof(Slots) == 4096);

struct Chosen {
  uint32_t block;
  uint32_t live_units;
  Slots* slots;
};

// An object that is to be copied.
struct Planned {
  uint32_t offset;  // in its block
  uint32_t size : 31;
  uint32_t died : 1;  // deleted after the plan was made, before the block was frozen
};
constexpr size_t kPlannedAtMost = kBlockSize / core::kMinimumObjectSize;

class Round {
 public:
  uint64_t run(PromotionScope scope, bool may_stop) noexcept {
    if (!take_memory()) return 0;
    choose(scope);
    if (count_ == 0) return 0;
    if (may_stop) ask_for_pins(count_, [&](size_t i) noexcept { return chosen_[i].block; });
    // Not before: a stop would wait for those who wait for frames (a third of a millisecond, as those of a sweep do).
    blocks_to_come.store(count_, std::memory_order_relaxed);
    last_lap_ = processor_time();
    find_references();
    promote_chosen(may_stop);
    for (size_t i = 0; i < count_; i++) arena.blocks[chosen_[i].block].chosen.store(0, std::memory_order_relaxed);
    return objects_;
  }

 private:
  bool take_memory() noexcept;
  void choose(PromotionScope scope) noexcept;
  void find_references() noexcept;
  void promote_chosen(bool may_stop) noexcept;
  bool try_to_promote(const Chosen& chosen) noexcept;
  // Adds the processor time since the last call.
  void lap(std::atomic<uint64_t>& counter) noexcept {
    uint64_t now = processor_time();
    count(counter, now - last_lap_);
    last_lap_ = now;
  }
  // Whether the walk must look closer at a reference into the block: it is chosen, or was promoted before. A byte for each, since the walk asks for
  // every reference there is: the blocks' records would not stay in the cache.
  uint8_t& concerns(size_t block) noexcept { return concerned_[block]; }
  template <typename BlockAt>
  void ask_for_pins(size_t blocks, BlockAt block_at) noexcept;
  template <typename Lower, typename Huge>
  void for_each_unchosen(Lower lower, Huge huge) noexcept;
  void collect() noexcept;
  void collect_from_cards() noexcept;
  void collect_from(size_t block) noexcept;
  void collect_from_copies() noexcept;
  void visit(uint64_t* slot) noexcept;
  bool promote_block(size_t block) noexcept;
  bool plan(size_t block) noexcept;
  bool reserve(size_t size) noexcept;
  uint8_t* place_of(uint32_t rank) noexcept;
  template <typename Function>
  void for_each_planned(Function function) noexcept;
  void give_up_plan() noexcept;
  void copy(size_t block) noexcept;
  void patch(const Chosen& chosen) noexcept;

  Scratch scratch_;
  Chosen* chosen_ = nullptr;
  ForwardingDraft* draft_ = nullptr;
  uint8_t* concerned_ = nullptr;
  // Of the block that is being promoted: the objects to copy, their units, and how many of them died.
  Planned* planned_ = nullptr;
  size_t planned_count_ = 0;
  uint32_t units_ = 0;
  size_t died_ = 0;
  size_t count_ = 0;
  uint64_t objects_ = 0;
  uint64_t cards_ = 0;
  uint64_t last_lap_ = 0;
  bool short_ = false;      // only young blocks are chosen
  bool exhausted_ = false;  // no block to copy to
};

bool Round::take_memory() noexcept {
  chosen_ = static_cast<Chosen*>(scratch_.take(kChosenAtMost * sizeof(Chosen)));
  draft_ = static_cast<ForwardingDraft*>(scratch_.take(sizeof(ForwardingDraft)));
  concerned_ = static_cast<uint8_t*>(scratch_.take(arena.block_count() / 2));
  planned_ = static_cast<Planned*>(scratch_.take(kPlannedAtMost * sizeof(Planned)));
  return chosen_ != nullptr && draft_ != nullptr && concerned_ != nullptr && planned_ != nullptr;
}

// Whether every chunk of a block of small objects is used up: the last page of each holds objects to its end. Then the block stays complete, and no
// thread allocates in what would be frozen.
bool is_used_up(size_t block) noexcept {
  const BlockRecord& record = arena.blocks[block];
  uint64_t starts = record.chunk_starts.load(std::memory_order_acquire);
  for (size_t window = 0; window < core::kWindowsPerBlock; window++) {
    bool last = window + 1 == core::kWindowsPerBlock || (starts >> (window + 1) & 1) != 0;
    size_t page = block * kPagesPerBlock + (window + 1) * (core::kWindowSize / core::kPageSize) - 1;
    if (!last || is_page_dead(page)) continue;
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

void Round::choose(PromotionScope scope) noexcept {
  constexpr size_t kUnitsPerBlock = kBlockSize / kUnit;
  // The emptiest first: sorted by sixteenths of a block.
  constexpr size_t kClasses = 16;
  uint32_t heads[kClasses];
  for (uint32_t& head : heads) head = UINT32_MAX;
  size_t candidates = 0;
  // Where the copies go looks complete when maintenance has taken what is left of it for idle.
  size_t of_copies = target.chunk_end != nullptr ? arena.block_index(reinterpret_cast<uintptr_t>(target.chunk_end) - 1) : kNoBlock;
  for_each_lower_block([&](size_t block) noexcept {
    if (block == of_copies) return;
    const BlockRecord& record = arena.blocks[block];
    BlockState state = record.state.load(std::memory_order_acquire);
    if (state == BlockState::kForwarded) concerns(block) = 1;
    if (candidates == kChosenAtMost || state != BlockState::kLive || record.kind != BlockKind::kSmall) return;
    if (record.claimed.load(std::memory_order_acquire) != ~uint64_t{0} || record.initialised.load(std::memory_order_acquire) != ~uint64_t{0}) return;
    size_t deleted = 0;
    for (size_t page = block * kPagesPerBlock; page < (block + 1) * kPagesPerBlock; page++) {
      size_t units = __atomic_load_n(&arena.pages[page].deleted, __ATOMIC_RELAXED);
      deleted += units < kUnitsPerPage ? units : kUnitsPerPage;
    }
    bool wanted = scope == PromotionScope::kAll || (scope == PromotionScope::kRandom ? next_random() % 2 == 0 : deleted * 16 >= kUnitsPerBlock * kSparseAt);
    if (!wanted || !is_used_up(block)) return;
    size_t live = kUnitsPerBlock - deleted, kind = live * kClasses / (kUnitsPerBlock + 1);
    // The list of its class is linked through `slots` until the blocks are in order.
    chosen_[candidates] = {static_cast<uint32_t>(block), static_cast<uint32_t>(live), reinterpret_cast<Slots*>(uintptr_t{heads[kind]})};
    heads[kind] = static_cast<uint32_t>(candidates++);
  });
  auto* sorted = static_cast<Chosen*>(scratch_.take(candidates * sizeof(Chosen)));
  if (sorted == nullptr) return;
  auto gain = [&](size_t i) noexcept { return kBlockSize - chosen_[i].live_units * kUnit; };
  // Above where this lap of addresses is, blocks are of the lap before (heap/addresses.h), however high their addresses are.
  size_t lap = lap_position();
  auto is_young_block = [lap](size_t block) noexcept { return block < lap && is_young(reinterpret_cast<uintptr_t>(arena.block_start(block))); };
  size_t enough = SIZE_MAX, gain_of_all = 0, gain_of_young = 0;
  for (size_t i = 0; i < candidates; i++) {
    gain_of_all += gain(i);
    if (is_young_block(chosen_[i].block)) gain_of_young += gain(i);
  }
  if (scope == PromotionScope::kFragmented) {
    size_t wanted = total_bytes_in_use() / 16 * kEndAt, held = held_memory();
    enough = held > wanted ? held - wanted : 0;
    candidates_suffice.store(gain_of_all >= enough, std::memory_order_relaxed);
    // Not where the old blocks are worth more, nor when marks have become so many that a whole walk, which clears them, costs as much.
    short_ = gain_of_young >= (enough < gain_of_all ? enough : gain_of_all) / 2 && cards_of_last_round < held / core::kPageSize / 2;
  } else {
    short_ = scope == PromotionScope::kYoung || (scope == PromotionScope::kRandom && next_random() % 2 == 0);
  }
  short_ = short_ && is_remembering();
  size_t gained = 0;
  for (uint32_t head : heads) {
    for (uint32_t i = head; i != UINT32_MAX && gained < enough; i = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(chosen_[i].slots))) {
      if (short_ && !is_young_block(chosen_[i].block)) continue;
      gained += gain(i);
      sorted[count_++] = {chosen_[i].block, chosen_[i].live_units, nullptr};
    }
  }
  chosen_ = sorted;
  for (size_t i = 0; i < count_; i++) {
    arena.blocks[chosen_[i].block].chosen.store(static_cast<uint16_t>(i + 1), std::memory_order_relaxed);
    concerns(chosen_[i].block) = 1;
  }
}

// Blocks that something may have been pinned in since they were filled: one short stop tells which of them are pinned now.
template <typename BlockAt>
void Round::ask_for_pins(size_t blocks, BlockAt block_at) noexcept {
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

// A field that leads into a chosen block is noted; one that is stale since an earlier round is repaired at once.
void Round::visit(uint64_t* slot) noexcept {
  uint64_t value;
  if (!core::try_load(slot, &value) || !arena.in_lower_half(value)) return;
  if (is_young(value)) mark_card(arena.page_index(reinterpret_cast<uintptr_t>(slot)));
  if (concerns(arena.block_index(value)) == 0) return;
  const BlockRecord& record = arena.blocks[arena.block_index(value)];
  if (record.state.load(std::memory_order_acquire) == BlockState::kForwarded) {
    bool swapped;
    uint64_t current = current_address(value);
    if (current != value && core::try_compare_and_swap(slot, value, current, &swapped) && swapped) count(promotion_counters.patched, 1);
    value = current;
  }
  uint16_t number = arena.blocks[arena.block_index(value)].chosen.load(std::memory_order_relaxed);
  if (number == 0) return;
  Slots*& list = chosen_[number - 1].slots;
  if (list == nullptr || list->count == sizeof list->slot / sizeof list->slot[0]) {
    auto* more = static_cast<Slots*>(scratch_.take(sizeof(Slots)));
    if (more == nullptr) return;  // faults will find it
    more->next = list;
    more->count = 0;
    list = more;
  }
  list->slot[list->count++] = slot;
}

void Round::collect_from(size_t block) noexcept {
  walk_block(block, [&](uint8_t* start, const Walked& walked) noexcept {
    if (is_live(walked)) core::for_each_reference(Object::at(start), walked.type, walked.size, [&](uint64_t* slot) noexcept { visit(slot); });
  });
}

// The chosen blocks are left out: most of what is there is dead, and what lives is visited as soon as it is copied.
template <typename Lower, typename Huge>
void Round::for_each_unchosen(Lower lower, Huge huge) noexcept {
  for_each_lower_block([&](size_t block) noexcept {
    const BlockRecord& record = arena.blocks[block];
    if (record.state.load(std::memory_order_acquire) == BlockState::kLive && record.chosen.load(std::memory_order_relaxed) == 0) lower(block);
  });
  for_each_upper_block([&](size_t block) noexcept {
    const BlockRecord& record = arena.blocks[block];
    if (record.state.load(std::memory_order_acquire) != BlockState::kLive || record.kind != BlockKind::kHuge) return;
    Walked walked = look_at(arena.block_start(block));
    if (is_live(walked)) huge(block, walked);
  });
}

// Calls function(page) for each marked page of a block, or of a huge object, and clears the marks.
template <typename Function>
void take_cards_of(size_t block, size_t size, Function function) noexcept {
  size_t first = block * kPagesPerBlock;
  take_cards(first, first + (size + core::kPageSize - 1) / core::kPageSize, function);
}

void Round::collect() noexcept {
  constexpr auto kForget = [](size_t) noexcept {};
  // What is allocated from now on is young. (The blocks that are being filled are not, whatever comes into them.)
  remember_from(reinterpret_cast<uintptr_t>(arena.block_start(lap_position())));
  for_each_unchosen(
      [&](size_t block) noexcept {
        take_cards_of(block, kBlockSize, kForget);
        collect_from(block);
      },
      [&](size_t block, const Walked& walked) noexcept {
        take_cards_of(block, walked.size, kForget);
        core::for_each_reference(Object::at(arena.block_start(block)), walked.type, walked.size, [&](uint64_t* slot) noexcept { visit(slot); });
      });
}

// A short round, whose chosen blocks are young: all references to them were stored since the last walk, so that the pages where they are are marked.
void Round::collect_from_cards() noexcept {
  auto visit_on_page = [&](size_t page, uint8_t* start, const Walked& walked) noexcept {
    auto begin_of = [](size_t page) noexcept { return reinterpret_cast<uint64_t*>(arena.page_start(page)); };
    core::for_each_reference_between(Object::at(start), walked.type, walked.size, begin_of(page), begin_of(page + 1), [&](uint64_t* slot) noexcept { visit(slot); });
  };
  for_each_unchosen(
      [&](size_t block) noexcept {
        const BlockRecord& record = arena.blocks[block];
        Guess guess;
        take_cards_of(block, kBlockSize, [&](size_t page) noexcept {
          if (is_page_dead(page)) return;
          cards_++;
          uint8_t *cursor = first_object(page), *end = arena.page_start(page + 1);
          if (cursor == nullptr) mark_card(page);
          while (cursor != nullptr && cursor < end) {
            Walked walked = is_walkable(record, cursor) ? look_at(cursor, guess) : Walked{Step::kEnd, 0, 0, nullptr};
            if (walked.step == Step::kEnd || walked.size == 0) {
              mark_card(page);  // the rest is for the next round
              return;
            }
            if (is_live(walked)) visit_on_page(page, cursor, walked);
            cursor += walked.size;
          }
        });
      },
      [&](size_t block, const Walked& walked) noexcept {
        take_cards_of(block, walked.size, [&](size_t page) noexcept {
          cards_++;
          visit_on_page(page, arena.block_start(block), walked);
        });
      });
}

// The type comes last: until then a walk that passes here sees memory that is not used yet.
void copy_object(uint8_t* to, const uint8_t* from, size_t size) noexcept {
  constexpr size_t kBody = kHeaderSize + sizeof(void*);
  memcpy(to + kBody, from + kBody, size - kBody);
  memcpy(to, from, kHeaderSize);
  __atomic_store_n(reinterpret_cast<uint64_t*>(to + kHeaderSize), *reinterpret_cast<const uint64_t*>(from + kHeaderSize), __ATOMIC_RELEASE);
}

// Room for one object behind those that were planned before it. False: no memory, or the copies would lie in three pieces.
bool Round::reserve(size_t size) noexcept {
  bool moves_on = !extend_window(&target, size);
  if (moves_on) {
    if (units_ != 0 && draft_->split != UINT32_MAX) return false;
    if (!next_promoted_chunk(&target)) {
      exhausted_ = true;
      return false;
    }
    if (!extend_window(&target, size)) return false;
  }
  auto to = reinterpret_cast<uintptr_t>(target.alloc_ptr - kHeaderSize);
  if (units_ == 0) {
    draft_->target[0] = to;
  } else if (moves_on) {
    draft_->split = units_;
    draft_->target[1] = to;
  }
  target.alloc_ptr += size;
  return true;
}

// Where the copy lies before which so many units were planned.
uint8_t* Round::place_of(uint32_t rank) noexcept {
  return reinterpret_cast<uint8_t*>(rank < draft_->split ? draft_->target[0] + size_t{rank} * kUnit : draft_->target[1] + size_t{rank - draft_->split} * kUnit);
}

// Finds the live objects of a block, room for their copies, and notes in the draft where they will go. The program goes on meanwhile: it makes no objects
// in a block that is used up, but it may end some. False: something is no object yet, or no memory; what was reserved is given up.
bool Round::plan(size_t block) noexcept {
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
void Round::for_each_planned(Function function) noexcept {
  uint32_t rank = 0;
  for (size_t i = 0; i < planned_count_; i++) {
    uint32_t units = planned_[i].size / kUnit;
    function(place_of(rank), planned_[i]);
    rank += units;
  }
}

// The room becomes garbage: an object each, as the pages were told where objects begin.
void Round::give_up_plan() noexcept {
  for_each_planned([](uint8_t* to, const Planned& planned) noexcept { fill(to, planned.size); });
}

// Copies what was planned. The block is frozen, and this is all that happens meanwhile.
void Round::copy(size_t block) noexcept {
  const uint8_t* block_start = arena.block_start(block);
  died_ = 0;
  for_each_planned([&](uint8_t* to, Planned& planned) noexcept {
    copy_object(to, block_start + planned.offset, planned.size);
    planned.died = (*reinterpret_cast<const uint32_t*>(to) & core::kDeletedBit) != 0;
    died_ += planned.died ? 1 : 0;
  });
}

// The fields of what was promoted just now: those into blocks promoted before are repaired, this one too, and those into blocks still to come noted.
void Round::collect_from_copies() noexcept {
  for_each_planned([&](uint8_t* start, const Planned& planned) noexcept {
    Walked walked = look_at(start);
    // What its owner has deleted since may have lost its memory too.
    if (is_live(walked) && walked.size == planned.size) core::for_each_reference(Object::at(start), walked.type, walked.size, [&](uint64_t* slot) noexcept { visit(slot); });
  });
}

bool Round::promote_block(size_t block) noexcept {
  MaintenancePause pause;  // what maintenance does with blocks, and the verifier, wait
  const BlockRecord& record = arena.blocks[block];
  // Spares a plan in vain. What is pinned from now on freeze_block sees.
  if (record.handle_pins.load(std::memory_order_relaxed) != 0 || has_stack_pins(block) || !plan(block)) return false;
  uint32_t forwarding = make_forwarding(*draft_);
  core::stress_step();
  uint64_t before = os::nanoseconds();
  // Had the block died since the plan began, it would not live any more, nor ever again.
  if (forwarding == kNoForwarding || !freeze_block(block)) {
    if (forwarding != kNoForwarding) drop_last_forwarding(forwarding);
    give_up_plan();
    return false;
  }
  core::stress_step();
  thread_promotes = true;
  copy(block);
  thread_promotes = false;
  core::stress_step();
  if (!forward_block(block, forwarding)) {
    thaw_block(block);
    drop_last_forwarding(forwarding);
    give_up_plan();  // nobody has seen the copies
    return false;
  }
  uint64_t frozen = os::nanoseconds() - before;
  if (frozen > promotion_counters.longest_freeze.load(std::memory_order_relaxed)) promotion_counters.longest_freeze.store(frozen, std::memory_order_relaxed);
  // Deleted before the freeze, they count for the old block. Whoever deletes a copy counts it himself.
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

// The walk.
void Round::find_references() noexcept {
  if (!core::knobs.stress.fault) {
    if (short_) collect_from_cards();
    else collect();
  }
  cards_of_last_round = cards_;
  last_round_was_short.store(short_, std::memory_order_relaxed);
  if (short_) count(promotion_counters.short_rounds, 1);
  count(promotion_counters.cards, cards_);
  lap(promotion_counters.walk_time);
}

bool Round::try_to_promote(const Chosen& chosen) noexcept {
  bool promoted = promote_block(chosen.block);
  lap(promotion_counters.copy_time);
  if (!promoted) return false;
  core::stress_step();
  patch(chosen);
  lap(promotion_counters.patch_time);
  return true;
}

void Round::promote_chosen(bool may_stop) noexcept {
  auto* to_retry = static_cast<uint32_t*>(scratch_.take(count_ * sizeof(uint32_t)));
  size_t retries = 0;
  for (size_t i = 0; i < count_ && !exhausted_; i++) {
    bool promoted = try_to_promote(chosen_[i]);
    blocks_to_come.store(count_ - i - 1, std::memory_order_relaxed);
    if (promoted) continue;
    if (!core::knobs.stress.fault) collect_from(chosen_[i].block);
    lap(promotion_counters.walk_time);
    if (may_stop && to_retry != nullptr && has_stack_pins(chosen_[i].block)) {
      to_retry[retries++] = static_cast<uint32_t>(i);
    } else {
      count(promotion_counters.refused, 1);
    }
  }
  blocks_to_come.store(0, std::memory_order_relaxed);
  // What was pinned after the stop mostly is not any more.
  for (size_t i = 0; i < retries && !exhausted_; i++) {
    size_t left = retries - i;
    if (i % kRetriesPerStop == 0) ask_for_pins(left < kRetriesPerStop ? left : kRetriesPerStop, [&](size_t j) noexcept { return chosen_[to_retry[i + j]].block; });
    if (!try_to_promote(chosen_[to_retry[i]])) count(promotion_counters.refused, 1);
  }
}

// The fields noted, if they still say what they said. A field may have moved itself.
void Round::patch(const Chosen& chosen) noexcept {
  uint64_t patched = 0, collected = 0;
  for (const Slots* slots = chosen.slots; slots != nullptr; slots = slots->next) {
    collected += slots->count;
    for (size_t i = 0; i < slots->count; i++) {
      // The fields lie far apart; the processor may fetch some while it works on another.
      constexpr size_t kAhead = 8;
      if (i + kAhead < slots->count) __builtin_prefetch(slots->slot[i + kAhead], 1);
      auto* slot = reinterpret_cast<uint64_t*>(current_address(reinterpret_cast<uintptr_t>(slots->slot[i])));
      uint64_t value;
      // A field's block may have died since: not worth a fault.
      if (arena.blocks[arena.block_index(reinterpret_cast<uintptr_t>(slot))].state.load(std::memory_order_acquire) != BlockState::kLive) continue;
      if (!core::try_load(slot, &value) || !arena.contains(value) || arena.block_index(value) != chosen.block) continue;
      uint64_t current = current_address(value);
      bool swapped;
      if (current != value && core::try_compare_and_swap(slot, value, current, &swapped) && swapped) patched++;
    }
  }
  count(promotion_counters.collected, collected);
  count(promotion_counters.patched, patched);
}

}  // namespace

bool is_too_small_to_promote() noexcept { return held_memory() < 2 * kSlack && !should_promote(); }

namespace {

bool is_fragmented(uint64_t live, uint64_t held) noexcept { return held >= live / 16 * kFragmentedAt + kSlack; }

// Whether promotion is behind: it began when the heap was a little smaller.
bool is_over_budget() noexcept {
  uint64_t live = total_bytes_in_use();
  return held_memory() >= live / 16 * kPacedAt + kSlack / 2 * 3;
}

}  // namespace

bool is_heap_fragmented() noexcept {
  return core::knobs.promotion && !core::knobs.debug && is_fragmented(total_bytes_in_use(), held_memory());
}

bool should_promote() noexcept {
  if (core::knobs.debug || !core::knobs.promotion) return false;
  ThreadTotals totals = thread_totals();
  uint64_t live = totals.live_bytes(), held = held_memory();
  // A short round costs what was stored since the last one, a walk over the whole heap what lives.
  uint64_t share = held / (last_round_was_short.load(std::memory_order_relaxed) ? 32 : 8), enough = share < kEnoughDeleted ? share : kEnoughDeleted;
  if (!is_fragmented(live, held) || totals.deleted_bytes - deleted_at_last_round < enough) return false;
  return forwarding_bytes() < held / 8 + kSlack;
}

bool had_enough_candidates() noexcept { return candidates_suffice.load(std::memory_order_relaxed); }

namespace {

bool are_frames_coming() noexcept { return blocks_to_come.load(std::memory_order_relaxed) != 0; }
// One beside those that promotion itself needs: what is left of blocks that were half full goes somewhere too.
bool are_frames_there() noexcept { return block_counters.pooled.load(std::memory_order_relaxed) > 2; }

}  // namespace

void wait_for_frames() noexcept {
  constexpr uint64_t kNanosecondsAtMost = 300'000, kMicrosecondsBetween = 50;
  thread_heap.paced_windows = 0;
  if (are_frames_there() || !are_frames_coming() || !is_over_budget()) return;
  count(promotion_counters.frame_waits, 1);
  for (uint64_t start = os::nanoseconds(); !are_frames_there() && are_frames_coming() && os::nanoseconds() - start < kNanosecondsAtMost;) os::pause(kMicrosecondsBetween);
  if (!are_frames_there()) thread_heap.paced_windows = core::kWindowsPerBlock;
}

void pace() noexcept {
  constexpr uint64_t kMicroseconds = 100;
  thread_heap.paced_windows--;
  if (are_frames_there() || !are_frames_coming()) {
    thread_heap.paced_windows = 0;
    return;
  }
  os::pause(kMicroseconds);
}

uint64_t promote(PromotionScope scope, bool may_stop) noexcept {
  // In debug mode every object has pages of its own.
  if (core::knobs.debug || !core::knobs.promotion) return 0;
  if (may_stop) {
    lock.lock();
  } else if (!lock.try_lock()) {
    thread_heap.missed_round = true;
    return 0;  // who holds it may be waiting for this thread to stop
  }
  deleted_at_last_round = thread_totals().deleted_bytes;
  count(promotion_counters.rounds, 1);
  uint64_t objects;
  {
    Round round;
    objects = round.run(scope, may_stop);
  }
  lock.unlock();
  return objects;
}

bool dedangle(bool search) noexcept {
  os::LockGuard guard(lock);
  if (sweeps_held != 0) return false;
  // Promotion waits for it. Threads that would otherwise take new memory meanwhile are paced.
  if (is_fragmented(total_bytes_in_use(), held_memory())) blocks_to_come.store(1, std::memory_order_relaxed);
  bool swept = sweep(search || are_addresses_short() || core::knobs.stress.reuse);
  blocks_to_come.store(0, std::memory_order_relaxed);
  return swept;
}

void hold_sweeps(bool hold) noexcept {
  os::LockGuard guard(lock);
  if (hold) sweeps_held++;
  else if (sweeps_held != 0) sweeps_held--;
}

PromotionPause::PromotionPause() noexcept { lock.lock(); }
PromotionPause::~PromotionPause() { lock.unlock(); }

void promote_for_ever(void (*round_done)(const char*)) noexcept {
  while (true) {
    os::pause(core::knobs.stress.promote);
    promote(PromotionScope::kRandom);
    round_done("promotion");
    if ((core::knobs.stress.dedangle || should_sweep()) && dedangle()) round_done("de-dangling");
  }
}

void refresh_pins() noexcept {
  refresh_stack_pins(
      [](void*) {
        for_each_lower_block([](size_t block) noexcept {
          if (has_stack_pins(block)) forget_stack_pins(block);
        });
      },
      nullptr);
}

void refresh_pins_for_ever() noexcept {
  while (true) {
    os::pause(kMicrosecondsBetweenRefreshes);
    refresh_pins();
  }
}

void reset_promotion() noexcept {
  random_state = 0;
  cards_of_last_round = 0;
  last_round_was_short = false;
  sweeps_held = 0;
  new (&promotion_counters) PromotionCounters();
  target = {};
  deleted_at_last_round = 0;
  candidates_suffice = false;
  blocks_to_come = 0;
}

}  // namespace freehold::heap
