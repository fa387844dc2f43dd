#include "diag/verify.h"

#include <stdarg.h>
#include <stdio.h>

#include <algorithm>

#include "core/arena.h"
#include "core/fault_recovery.h"
#include "core/object.h"
#include "core/references.h"
#include "heap/accounting.h"
#include "heap/block_walk.h"
#include "heap/cards.h"
#include "heap/forwarding.h"
#include "heap/guarded_blocks.h"
#include "heap/heap.h"
#include "heap/scope_deletion.h"
#include "heap/walk.h"
#include "heap/young_blocks.h"

namespace freehold::diag {

using core::arena;
using core::BlockKind;
using core::BlockRecord;
using core::BlockState;
using core::kBlockSize;
using core::kPageSize;
using core::kPagesPerBlock;
using core::MethodTable;
using core::Object;

namespace {

[[gnu::format(printf, 2, 3)]] void violation(Report& report, const char* format, ...) noexcept {
  if (report.violations++ != 0 || report.capacity == 0) return;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(report.message, report.capacity, format, arguments);
  va_end(arguments);
}

bool plausible_type(uint64_t table) noexcept {
  uint64_t head;
  if (table == 0 || table % 8 != 0 || arena.contains(table) || !core::try_load(reinterpret_cast<const uint64_t*>(table), &head)) return false;
  const auto* type = reinterpret_cast<const MethodTable*>(table);
  return type->base_size >= core::kMinimumObjectSize - 4 && type->base_size < (1u << 30);
}

// A reference may lead outside the arena (frozen objects), to a live object, or to what was deleted; never into the middle of an object, nor to unused memory.
void check_reference(Report& report, const Object* referrer, uint64_t target) noexcept {
  report.references++;
  if (target == 0 || !arena.contains(target)) return;
  target = heap::current_address(target);
  if (core::group_state((target - arena.start) / core::kGroupSize) == core::GroupState::kUnnamed) {
    violation(report, "object %p refers to %p, which nothing was found to refer to", static_cast<const void*>(referrer), reinterpret_cast<void*>(target));
    return;
  }
  const auto* pointer = reinterpret_cast<const void*>(target);
  switch (heap::classify(pointer)) {
    case heap::AddressState::kNeverUsed:
      violation(report, "object %p refers to %p, which was never allocated", static_cast<const void*>(referrer), reinterpret_cast<void*>(target));
      return;
    case heap::AddressState::kLive: {
      if (!heap::is_whole(pointer)) return;  // deleted
      const Object* found = heap::find_object(target);
      if (found != reinterpret_cast<const Object*>(target)) {
        violation(report, "object %p refers to %p, which is not the start of an object (that is %p)", static_cast<const void*>(referrer),
                  reinterpret_cast<void*>(target), static_cast<const void*>(found));
      }
      return;
    }
    default: return;
  }
}

// A young reclaim reads the fields of old objects on marked pages only (heap/card_roots.h).
bool is_missed_by_young_reclaim(const uint64_t* field) noexcept {
  if (!heap::are_blocks_young() || !arena.contains(*field) || !heap::is_young_block(arena.block_index(*field))) return false;
  auto place = reinterpret_cast<uintptr_t>(field);
  return !heap::is_young_block(arena.block_index(place)) && (arena.cards[arena.page_index(place)] & heap::Card::kForReclaims) == 0;
}

// A scope that ends looks for references from outside on the pages that are noted only (heap/scope_notes.h).
void check_field(Report& report, const Object* referrer, const uint64_t* field) noexcept {
  check_reference(report, referrer, *field);
  if (is_missed_by_young_reclaim(field))
    violation(report, "object %p refers to %p in a young block, and no barrier has marked its page", static_cast<const void*>(referrer),
              reinterpret_cast<void*>(*field));
  if (arena.contains(*field) && heap::is_missed_by_notes(field, heap::current_address(*field)))
    violation(report, "object %p refers to %p, of a scope, and its page is not noted", static_cast<const void*>(referrer), reinterpret_cast<void*>(*field));
}

// Where the walk of a block goes on behind memory that is not used yet or not there any more.
size_t next_walkable(const BlockRecord& record, size_t block, size_t offset) noexcept {
  size_t page = offset / kPageSize;
  if (record.kind == BlockKind::kLarge) return (page + 1) * kPageSize;
  if (core::is_page_dead(block * kPagesPerBlock + page)) {
    // Dead pages, perhaps without memory: on with the first object behind them.
    while (++page < kPagesPerBlock) {
      const uint8_t* found = heap::first_object(block * kPagesPerBlock + page);
      const uint8_t* start = arena.block_start(block) + page * kPageSize;
      if (found != nullptr && found >= start && found < start + kPageSize) return static_cast<size_t>(found - arena.block_start(block));
    }
    return kBlockSize;
  }
  // The rest of a chunk that is being filled; the next chunk follows.
  uint64_t chunks = record.chunk_starts.load(std::memory_order_acquire);
  size_t window = offset / core::kWindowSize + 1;
  while (window < core::kWindowsPerBlock && (chunks >> window & 1) == 0) window++;
  return window * core::kWindowSize;
}

void verify_shared_block(Report& report, size_t block) noexcept {
  const BlockRecord& record = arena.blocks[block];
  uint64_t initialised = record.initialised.load(std::memory_order_acquire);
  uint8_t* start = arena.block_start(block);
  size_t dead = 0;
  for (size_t page = 0; page < kPagesPerBlock; page++) dead += core::is_page_dead(block * kPagesPerBlock + page) ? 1 : 0;
  if (dead != record.dead_pages.load(std::memory_order_relaxed))
    violation(report, "block %zu counts %u dead pages and marks %zu", block, record.dead_pages.load(), dead);
  for (size_t offset = 0; offset < kBlockSize;) {
    size_t window = offset / core::kWindowSize;
    if ((initialised >> window & 1) == 0) {
      offset = (window + 1) * core::kWindowSize;
      continue;
    }
    bool unused_large_page = record.kind == BlockKind::kLarge && offset % kPageSize == 0 && arena.pages[block * kPagesPerBlock + offset / kPageSize].first == 0;
    heap::Walked object = unused_large_page ? heap::Walked{heap::Step::kEnd, 0, 0, nullptr} : heap::look_at(start + offset);
    if (object.step == heap::Step::kEnd) {
      offset = next_walkable(record, block, offset);
      continue;
    }
    if (object.size < core::kHeaderSize || object.size % core::kObjectAlignment != 0 || offset + object.size > kBlockSize) {
      violation(report, "%s at %p has the size %zu, which does not fit its block", object.step == heap::Step::kFiller ? "the filler" : "the object",
                static_cast<void*>(start + offset), object.size);
      return;
    }
    // A page may have died without a store to its objects (heap/unreached_pages.h).
    bool alive =
        object.step == heap::Step::kObject && (object.header & core::kDeletedBit) == 0 && !core::is_page_dead(block * kPagesPerBlock + offset / kPageSize);
    if (object.step == heap::Step::kObject && !plausible_type(*reinterpret_cast<uint64_t*>(start + offset + core::kHeaderSize))) {
      violation(report, "the object at %p has no plausible type: %p", static_cast<void*>(start + offset),
                *reinterpret_cast<void**>(start + offset + core::kHeaderSize));
      return;
    }
    if (alive) {
      report.objects++;
      if (object.type->has_finalizer() && !core::may_have_finalizable(block))
        violation(report, "the object at %p has a finalizer, and its block is not known to hold such", static_cast<void*>(start + offset));
      for (size_t page = offset / kPageSize; page <= (offset + object.size - 1) / kPageSize; page++) {
        if (core::is_page_dead(block * kPagesPerBlock + page))
          violation(report, "the live object at %p lies on a page that is marked dead", static_cast<void*>(start + offset));
      }
      const Object* referrer = Object::at(start + offset);
      core::for_each_reference(referrer, object.type, object.size, [&](uint64_t* slot) noexcept { check_field(report, referrer, slot); });
    }
    offset += object.size;
  }
}

// Each object of a guarded block begins a page that only a filler shares, and is known as long as it lives. Returns how many live, and how many pages are for the next ones.
struct Guarded {
  size_t alive = 0, unused = 0;
};
Guarded verify_guarded_block(Report& report, size_t block) noexcept {
  Guarded guarded;
  for (size_t page = block * kPagesPerBlock; page < (block + 1) * kPagesPerBlock; page++) {
    const uint8_t* start = arena.page_start(page);
    bool is_alive = heap::is_guarded_alive(start);
    if (is_alive) guarded.alive++;
    if (core::is_page_dead(page)) {
      if (is_alive) violation(report, "the guarded page %p is dead, and its object counts as alive", static_cast<const void*>(start));
      continue;
    }
    heap::Walked walked = heap::is_walkable(arena.blocks[block], start) ? heap::look_at(start) : heap::Walked{heap::Step::kEnd, 0, 0, nullptr};
    if (walked.step == heap::Step::kEnd) {
      if (!is_alive) guarded.unused++;
      continue;
    }
    // With the threads stopped no deletion is under way: it has taken the page.
    if (walked.step == heap::Step::kObject && (walked.header & core::kDeletedBit) != 0)
      violation(report, "the guarded object at %p is deleted, and its page is not dead", static_cast<const void*>(start));
    else if (walked.step != heap::Step::kObject || walked.size > kPageSize || !is_alive)
      violation(report, "the guarded page %p holds %s of %zu bytes and counts as %s", static_cast<const void*>(start),
                walked.step == heap::Step::kObject ? "an object" : "a filler", walked.size, is_alive ? "alive" : "deleted");
    else if (walked.size < kPageSize && heap::look_at(start + walked.size).step != heap::Step::kFiller)
      violation(report, "the guarded object at %p shares its page", static_cast<const void*>(start));
  }
  return guarded;
}

void verify_huge_block(Report& report, size_t block) noexcept {
  const BlockRecord& record = arena.blocks[block];
  const Object* object = Object::at(arena.block_start(block));
  heap::Walked walked = heap::look_at(arena.block_start(block));
  if (walked.step != heap::Step::kObject) return;  // being allocated, or deleted just now
  size_t taken = size_t{record.huge_pages} * kPageSize;
  if (walked.size > taken)
    violation(report, "the huge object at %p has %zu bytes, its blocks were taken for %zu", static_cast<const void*>(object), walked.size, taken);
  if ((walked.header & core::kDeletedBit) != 0) return;
  report.objects++;
  core::for_each_reference(object, walked.type, walked.size, [&](uint64_t* slot) noexcept { check_field(report, object, slot); });
}

// Walks pass by the groups of which every block was counted as gone: none of them may be in use.
void verify_gone(Report& report) noexcept {
  size_t lower = heap::lower_frontier(), promoted = heap::promoted_block(heap::promoted_frontier());
  auto verify_groups = [&](size_t first, size_t end) noexcept {
    for (size_t block = first; block < end; block += core::kBlocksPerGroup) {
      size_t counted = std::min<size_t>(core::group_state(block / core::kBlocksPerGroup), core::kBlocksPerGroup), gone = 0;
      if (counted == 0) continue;
      for (size_t i = 0; i < core::kBlocksPerGroup; i++) gone += arena.blocks[block + i].state.load(std::memory_order_acquire) == BlockState::kGone ? 1 : 0;
      if (counted > gone) violation(report, "%zu blocks from block %zu on are counted as gone, and %zu are", counted, block, gone);
    }
  };
  verify_groups(0, lower > promoted ? lower : promoted);
  verify_groups(arena.block_count() / 2, heap::upper_frontier());
}

}  // namespace

void verify_heap(Report& report) noexcept {
  report.violations = report.objects = report.references = 0;
  if (report.capacity != 0) report.message[0] = 0;
  size_t live = 0, pooled = 0, moved = 0;
  Guarded guarded;
  heap::begin_scope_check();
  heap::for_each_lower_block([&](size_t block) noexcept {
    switch (arena.blocks[block].state.load(std::memory_order_acquire)) {
      case BlockState::kLive:
        live++;
        verify_shared_block(report, block);
        if (arena.blocks[block].kind == BlockKind::kGuarded) {
          Guarded of_block = verify_guarded_block(report, block);
          guarded.alive += of_block.alive;
          guarded.unused += of_block.unused;
        }
        break;
      case BlockState::kPooled:
        pooled++;
        if (arena.blocks[block].dead_pages.load() != kPagesPerBlock)
          violation(report, "block %zu is pooled with %u dead pages", block, arena.blocks[block].dead_pages.load());
        break;
      case BlockState::kMoved: moved++; break;
      case BlockState::kEvacuating: violation(report, "block %zu is being evacuated, and nothing is being promoted", block); break;
      case BlockState::kForwarded:
        // Its pages are out of the accounts, whoever comes late.
        if (arena.blocks[block].dead_pages.load() < core::kDeadPagesClosed)
          violation(report, "block %zu is forwarded and counts %u dead pages", block, arena.blocks[block].dead_pages.load());
        break;
      case BlockState::kGone: break;
    }
  });
  heap::for_each_upper_block([&](size_t block) noexcept {
    const BlockRecord& record = arena.blocks[block];
    if (record.state.load(std::memory_order_acquire) == BlockState::kLive && record.kind == BlockKind::kHuge) verify_huge_block(report, block);
  });
  heap::end_scope_check();
  verify_gone(report);
  const heap::BlockCounters& counters = heap::block_counters;
  unsigned long long counted_guarded = heap::guarded_counters.alive.load(), counted_pages = counters.guarded_pages.load();
  if (guarded.alive != counted_guarded || guarded.alive + guarded.unused != counted_pages)
    violation(report, "%zu guarded objects live, and %zu of their pages are unused; counted: %llu, and %llu pages of both", guarded.alive, guarded.unused,
              counted_guarded, counted_pages);
  unsigned long long counted_pool = counters.pooled.load() + counters.pinned.load();
  if (live != counters.live.load() || pooled != counted_pool || moved != counters.moved.load()) {
    violation(report, "blocks found: %zu live, %zu pooled, %zu moved; counted: %llu, %llu (%llu of them pinned), %llu", live, pooled, moved,
              static_cast<unsigned long long>(counters.live.load()), counted_pool, static_cast<unsigned long long>(counters.pinned.load()),
              static_cast<unsigned long long>(counters.moved.load()));
  }
}

}  // namespace freehold::diag
