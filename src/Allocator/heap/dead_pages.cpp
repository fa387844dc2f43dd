#include "heap/dead_pages.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <iterator>

#include "Platform/lock.h"
#include "core/arena.h"
#include "core/knobs.h"
#include "heap/accounting.h"
#include "heap/block_lists.h"
#include "heap/block_protection.h"
#include "heap/maintenance_signals.h"
#include "heap/mappings.h"
#include "heap/pins.h"
#include "heap/walk.h"
#include "os/kernel.h"
#include "os/watching.h"

namespace freehold::heap {

using core::arena;
using core::BlockKind;
using core::BlockRecord;
using core::BlockState;
using core::kPageSize;
using core::kPagesPerBlock;
using core::kWindowSize;

void (*after_look_at_pins)() noexcept = nullptr;

namespace {

// Pages at the start of a block all of which have memory, have lost it, or are dead: userfaultfd takes one that never had any for a dead one.
size_t populated_pages(const BlockRecord& record) noexcept {
  if (record.kind == BlockKind::kLarge) return record.populated.load(std::memory_order_acquire) ? kPagesPerBlock : 0;
  return static_cast<size_t>(std::countr_one(record.initialised.load(std::memory_order_acquire))) * (kWindowSize / kPageSize);
}

}  // namespace

size_t release_pages(size_t block, size_t minimum_run) noexcept {
  BlockRecord& record = arena.blocks[block];
  auto bit = [](const std::atomic<uint64_t>* words, size_t page) noexcept {
    return (words[page / 64].load(std::memory_order_acquire) >> (page % 64) & 1) != 0;
  };
  struct Run {
    size_t first, end;
  };
  // The runs, from a page on. What died meanwhile is for the next time.
  uint64_t dead[kPagesPerBlock / 64];
  for (size_t i = 0; i < kPagesPerBlock / 64; i++)
    dead[i] = record.dead[i].load(std::memory_order_acquire) & ~record.released[i].load(std::memory_order_relaxed);
  // After the bits: where an object reaches from a dead page into the next one, that one counts as populated.
  const size_t populated = populated_pages(record);
  auto next_run = [&](size_t page) noexcept -> Run {
    while (page < populated) {
      size_t end = page;
      while (end < populated && (dead[end / 64] >> (end % 64) & 1) != 0) end++;
      if (end - page >= minimum_run) return {page, end};
      page = end + 1;
    }
    return {kPagesPerBlock, kPagesPerBlock};
  };
  if (next_run(0).first == kPagesPerBlock) return 0;
  // Published before the pins are read: heap/pins.h.
  bool was_released = record.partly_released.load(std::memory_order_relaxed);
  auto mark = [&](Run run, bool released) noexcept {
    for (size_t page = run.first; page < run.end; page++) {
      uint64_t mask = uint64_t{1} << (page % 64);
      if (released) record.released[page / 64].fetch_or(mask, std::memory_order_release);
      else record.released[page / 64].fetch_and(~mask, std::memory_order_release);
    }
  };
  auto unmark_from = [&](size_t page) noexcept {
    for (Run run = next_run(page); run.first < kPagesPerBlock; run = next_run(run.end)) mark(run, false);
  };
  auto has_runs = [&]() noexcept { return next_run(0).first < kPagesPerBlock; };
  for (Run run = next_run(0); run.first < kPagesPerBlock; run = next_run(run.end)) {
    if (run.end < populated) keep_first_object(block * kPagesPerBlock + run.end);
    mark(run, true);
  }
  record.partly_released.store(true, std::memory_order_release);
  if (is_pinned(block)) {
    unmark_from(0);
    // Which of them is pinned is known where each object has pages of its own.
    auto is_known = [&]() noexcept { return core::knobs.debug || record.kind == BlockKind::kGuarded; };
    // In the one order of all seq_cst operations, this thread sees that the last handle has gone, or who takes it back sees that pages wait (remove_handle_pin). Until then no look would tell more.
    auto note_that_pages_wait = [&]() noexcept {
      record.release_waits.store(true, std::memory_order_seq_cst);
      if (record.handle_pins.load(std::memory_order_seq_cst) == 0) note_unpinned();
    };
    bool was_known = is_known();
    if (!was_known) note_that_pages_wait();
    if (was_known) {
      uint64_t wanted[kPagesPerBlock / 64];
      std::copy(std::begin(dead), std::end(dead), wanted);
      exclude_pinned(block, dead);
      if (after_look_at_pins != nullptr) [[unlikely]]
        after_look_at_pins();
      for (Run run = next_run(0); run.first < kPagesPerBlock; run = next_run(run.end)) mark(run, true);
      // A pin may have come while they were not marked: once more, as the first time.
      uint64_t marked[kPagesPerBlock / 64];
      std::copy(std::begin(dead), std::end(dead), marked);
      is_pinned(block);
      uint64_t going[kPagesPerBlock / 64] = {};
      // The block may have been given up meanwhile: then who pins does not say which page.
      if (is_known()) {
        exclude_pinned(block, dead);
        // What is left of a run may be too short.
        for (Run run = next_run(0); run.first < kPagesPerBlock; run = next_run(run.end)) {
          for (size_t page = run.first; page < run.end; page++) going[page / 64] |= uint64_t{1} << (page % 64);
        }
      } else {
        std::fill(std::begin(dead), std::end(dead), 0);
      }
      for (size_t i = 0; i < kPagesPerBlock / 64; i++) record.released[i].fetch_and(~(marked[i] & ~going[i]), std::memory_order_release);
      if (!std::equal(std::begin(dead), std::end(dead), std::begin(wanted))) note_that_pages_wait();
    } else if (after_look_at_pins != nullptr) [[unlikely]] {
      after_look_at_pins();
    }
    if (!was_known || !has_runs()) {
      record.partly_released.store(was_released, std::memory_order_release);
      return 0;
    }
  }
  size_t released = 0;
  // Once for each window, by who began it (heap/guarded_objects.cpp).
  bool watched = record.kind == BlockKind::kGuarded && record.populated.load(std::memory_order_relaxed) && !are_mappings_short();
  for (Run run = next_run(0); run.first < kPagesPerBlock; run = next_run(run.end)) {
    uint8_t* start = arena.block_start(block) + run.first * kPageSize;
    size_t size = (run.end - run.first) * kPageSize;
    bool done;
    if (is_watching()) {
      if (!watched)
        watched =
            are_mappings_short() && populated == kPagesPerBlock ? watch_with_neighbours(block) : os::watch(arena.block_start(block), populated * kPageSize);
      done = (watched && os::discard(start, size)) || os::guard(start, size);
    } else {
      // A run between accessible pages makes three mappings of one; beside released pages it becomes a part of theirs. Its neighbours are not in
      // this round: two runs never touch.
      size_t neighbours = (run.first > 0 && bit(record.released, run.first - 1) ? 1 : 0) + (run.end < kPagesPerBlock && bit(record.released, run.end) ? 1 : 0);
      done = (neighbours != 0 || mappings() + 2 <= mapping_budget()) && os::decommit(start, size);
      if (!done) {
        done = are_mappings_short() && os::guard(start, size);
      } else {
        uint64_t splits = 2 - 2 * neighbours;  // wraps to -2 when it joins two runs
        record.splits = static_cast<uint16_t>(record.splits + splits);
        block_counters.mapping_splits.fetch_add(splits, std::memory_order_relaxed);
      }
    }
    if (!done) {
      unmark_from(run.first);
      return released;
    }
    block_counters.released_pages.fetch_add(size / kPageSize, std::memory_order_relaxed);
    block_counters.gone_bytes.fetch_add(size, std::memory_order_relaxed);
    released += size;
  }
  return released;
}

size_t release_dead_pages(size_t block, size_t minimum_run) noexcept {
  const BlockRecord& record = arena.blocks[block];
  // Holding the lock keeps the block from being pooled (and recycled) while some of its pages lose their memory.
  os::LockGuard guard(block_lock);
  if (record.state.load(std::memory_order_acquire) != BlockState::kLive || record.dead_pages.load(std::memory_order_acquire) == kPagesPerBlock) return 0;
  return release_pages(block, minimum_run);
}

}  // namespace freehold::heap
