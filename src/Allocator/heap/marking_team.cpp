#include "heap/marking_team.h"

#include <algorithm>
#include <atomic>
#include <optional>

#include "core/arena.h"
#include "core/knobs.h"
#include "core/module_state.h"
#include "heap/background_thread.h"
#include "heap/concurrent_reclaim_counters.h"
#include "heap/mark_packets.h"
#include "heap/marked_blocks.h"
#include "heap/phases.h"
#include "heap/shading.h"
#include "heap/walk.h"
#include "os/kernel.h"

namespace freehold::heap {

using core::arena;
using core::Object;

namespace {

// Not a module's state that a test may renew: helpers wait there from their start on.
constinit MarkPackets packets;
size_t helpers = 0;  // started; the first's

struct State {
  size_t processors = 0;  // set_process_processors()
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

void* help(void*) noexcept {
  Marker marker(packets);
  uintptr_t items[MarkPackets::kItems];
  while (true) {
    for (size_t count = packets.join(items); count != 0; count = packets.take_or_leave(items)) {
      for (size_t i = 0; i < count; i++) marker.push(items[i]);
      marker.work(UINT64_MAX, true);
    }
  }
  return nullptr;
}

}  // namespace

size_t marking_workers() noexcept {
  constexpr size_t kShare = 4, kAtMost = 64, kStressed = 3;
  size_t processors = state.processors != 0 ? state.processors : os::processors();
  size_t wanted = core::knobs.reclaim_workers;
  if (wanted == 0) wanted = core::knobs.stress.reclaim != 0 && core::knobs.stress.seed % 2 != 0 ? kStressed : processors / kShare;
  return std::clamp<size_t>(wanted, 1, kAtMost);
}

void set_process_processors(size_t count) noexcept { state.processors = count; }

void forget_markers() noexcept {
  helpers = 0;
  packets.forget_helpers();
  packets.release();
}

MarkingTeam::MarkingTeam() noexcept : first_(packets) {
  packets.begin(marking_bounds.packets);
  // Without one the others do its work.
  while (helpers + 1 < marking_workers() && start_background_thread("Freehold marker", help)) helpers++;
}

MarkingTeam::~MarkingTeam() { packets.release(); }

bool MarkingTeam::take_shaded() noexcept {
  constexpr size_t kAtOnce = 256;
  size_t queued = std::min(shading.queued.load(std::memory_order_acquire), marking_bounds.queue), before = taken_;
  while (taken_ < queued && taken_ - before < kAtOnce) {
    uint64_t address = shading.queue[taken_].load(std::memory_order_acquire);
    if (address == 0) break;  // the thread that has the place is about to store
    shading.queue[taken_++].store(0, std::memory_order_relaxed);
    first_.push(address);
  }
  return taken_ != before;
}

// All marked objects of such blocks, some of them once more. A stop that may scan less leaves them to the time after it.
MarkingTeam::Scan MarkingTeam::scan_overflowed(uint64_t at_most, bool stopped) noexcept {
  constexpr uint64_t kObjects = core::kBlockSize / core::kMinimumObjectSize;
  if (!shading.any_overflowed.load(std::memory_order_acquire)) return Scan::kNothing;
  if (stopped) {
    uint64_t blocks = 0;
    for_each_overflowed_block([&](size_t) noexcept { blocks++; });
    if (blocks * kObjects > at_most) return Scan::kTooMuch;
  }
  shading.any_overflowed.exchange(false, std::memory_order_acq_rel);
  auto scan_marked = [this](uint8_t* start, const Walked& walked) noexcept {
    Object* object = Object::at(start);
    if (walked.step == Step::kObject && walked.type->has_pointers() && is_marked(reinterpret_cast<uintptr_t>(object)))
      first_.scan(object, walked.type, walked.size);
  };
  for_each_overflowed_block([&](size_t block) noexcept {
    // What lies behind a page that goes away during the walk would be left out.
    std::optional<MaintenancePause> pause;
    if (!stopped) pause.emplace();
    concurrent_reclaim_counters.blocks_again.fetch_add(1, std::memory_order_relaxed);
    // Before the marks are read: who marks later notes the block again.
    shading.overflowed[block / 64].fetch_and(~(uint64_t{1} << (block % 64)), std::memory_order_acq_rel);
    uint8_t* start = arena.block_start(block);
    if (arena.in_lower_half(reinterpret_cast<uintptr_t>(start))) walk_block<Pages::kWithMemory>(block, scan_marked);
    else scan_marked(start, look_at(start));
  });
  return Scan::kDone;
}

bool MarkingTeam::drain(uint64_t at_most, bool stopped) noexcept {
  uint64_t until = at_most == UINT64_MAX ? UINT64_MAX : first_.scanned() + at_most;
  uintptr_t items[MarkPackets::kItems];
  while (first_.work(until, !stopped)) {
    bool ended = true;
    size_t count = stopped ? packets.take(items, &ended) : packets.take_or_wait(items);
    for (size_t i = 0; i < count; i++) first_.push(items[i]);
    if (count != 0) continue;
    if (!ended) return false;
    if (take_shaded()) continue;
    Scan scan = scan_overflowed(at_most, stopped);
    if (scan == Scan::kNothing) return true;
    if (scan == Scan::kTooMuch) return false;
  }
  return false;
}

void MarkingTeam::empty_queue() noexcept {
  taken_ = 0;
  shading.queued.store(0, std::memory_order_relaxed);
}

void MarkingTeam::forget_shaded() noexcept {
  packets.abandon();
  size_t given = std::min(shading.queued.load(std::memory_order_relaxed), marking_bounds.queue);
  for (size_t place = taken_; place < given; place++) shading.queue[place].store(0, std::memory_order_relaxed);
  empty_queue();
  for_each_overflowed_block([](size_t block) noexcept { shading.overflowed[block / 64].fetch_and(~(uint64_t{1} << (block % 64)), std::memory_order_relaxed); });
  shading.any_overflowed.store(false, std::memory_order_relaxed);
}

}  // namespace freehold::heap
