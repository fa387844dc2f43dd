#include "heap/maintenance.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>

#include "core/knobs.h"
#include "heap/blocks.h"
#include "heap/chunks.h"
#include "heap/dedangling.h"
#include "heap/large.h"
#include "heap/mappings.h"
#include "heap/pins.h"
#include "heap/prefault.h"
#include "heap/promotion.h"
#include "heap/reachability.h"
#include "heap/thread_heap.h"
#include "heap/walk.h"
#include "platform/lock.h"
#include "platform/os.h"
#include "platform/signals.h"

namespace freehold::heap {

using core::arena;
using core::kPagesPerBlock;
using core::kUnitsPerPage;

namespace {

constexpr uint64_t kTickNanoseconds = 50'000'000;
// A stop of the threads costs them some ten to a hundred microseconds: at most one in this time, however many blocks wait for it.
constexpr long kBetweenStopsNanoseconds = 5'000'000;
// Ticks without one, at most, while stops find nothing to release.
constexpr uint32_t kPatience = 32;
constexpr size_t kMovedKept = 256;
// In the background only runs of 64 KB or more lose their memory: a shorter one costs more (a huge page splits) than it gives.
constexpr size_t kBackgroundRun = 16;

std::atomic<uint32_t> work{0};
std::atomic<uint32_t> hurry{0};
std::atomic<bool> threads_are_lost{false};  // set in the child of a fork, before it has other threads; who takes it back starts them
std::atomic<PhaseHook> phase_hook{nullptr};
os::Lock maintenance_lock;  // one phase at a time
uint64_t deleted_at_last_recount = 0;
std::atomic<uint32_t> ticks_to_stop{1}, ticks_between_stops{1};
std::atomic<uint64_t> pinned_at_last_stop{0};
std::atomic<uint64_t> recycled_at_last_round{0};  // relaxed: a thread that collects beside the background thread only makes it look busier

void phase_done(const char* phase) noexcept {
  if (PhaseHook hook = phase_hook.load(std::memory_order_acquire); hook != nullptr) hook(phase);
}

// Corrects the counters of one block from its objects, and buries what turns out to be dead.
void recount_block(size_t block) noexcept {
  for (size_t page = block * kPagesPerBlock; page < (block + 1) * kPagesPerBlock; page++) {
    if (__atomic_load_n(&arena.pages[page].deleted, __ATOMIC_RELAXED) == 0 || is_page_dead(page)) continue;
    recount_page(page);
    block_counters.recounts.fetch_add(1, std::memory_order_relaxed);
  }
}

template <typename Function>
void for_each_shared_block(Function function) noexcept {
  for_each_lower_block([&](size_t block) noexcept {
    if (arena.blocks[block].state.load(std::memory_order_acquire) == core::BlockState::kLive) function(block);
  });
}

void recount() noexcept {
  deleted_at_last_recount = thread_totals().deleted_bytes;
  for_each_shared_block([](size_t block) noexcept { recount_block(block); });
}

// Lost updates of counters matter when much was deleted and little of it was found dead (f > 1/2, Kedia et al., section 4), nor enough of it sparse.
// Not often: it is a walk of the heap, which promotion waits for.
bool should_recount() noexcept {
  if (had_enough_candidates()) return false;
  ThreadTotals totals = thread_totals();
  uint64_t live = totals.live_bytes();
  uint64_t since = totals.deleted_bytes - deleted_at_last_recount;
  // Frames that wait for their next use are no sign of it.
  uint64_t held = held_memory();
  return held > 2 * live + (uint64_t{16} << 20) && since > 8 * held;
}

bool dead_pages_weigh() noexcept {
  uint64_t dead = dead_pages(), released = block_counters.released_pages.load(std::memory_order_relaxed);
  return dead > released && (dead - released) * 2 * core::kPageSize > resident_memory();
}

// A block that loses pages cannot be recycled, its huge page is split, and walks fault there. Promotion empties it as a whole, unless it is pinned.
bool is_left_to_promotion(size_t block) noexcept {
  const core::BlockRecord& record = arena.blocks[block];
  return core::knobs.promotion && !core::knobs.debug && record.kind == core::BlockKind::kSmall && record.handle_pins.load(std::memory_order_relaxed) == 0 &&
         record.stack_pins.load(std::memory_order_relaxed) == 0;
}

// Blocks that are not used up and that nobody allocated from since the last round: what is left of their chunks is given back, if it has memory or keeps
// dead pages behind it from being released, and their dead pages. `thorough`: all such blocks, whoever allocates from them. Blocks that are used up are
// left to promotion, but it has nothing to do in a small heap: there they lose the dead pages that they had in the last round too.
void release_idle_blocks(bool thorough) noexcept {
  bool small = !core::knobs.debug && is_too_small_to_promote();
  for_each_shared_block([thorough, small](size_t block) noexcept {
    core::BlockRecord& record = arena.blocks[block];
    uint64_t claimed = record.claimed.load(std::memory_order_acquire), before = record.claimed_last_round;
    uint16_t dead = record.dead_pages.load(std::memory_order_relaxed), dead_before = record.dead_last_round;
    record.claimed_last_round = claimed;
    record.dead_last_round = dead;
    if (record.kind != core::BlockKind::kSmall || (!thorough && claimed != before)) return;
    if (claimed == ~uint64_t{0}) {
      if (small && dead == dead_before && dead > kPagesPerBlock / 2) release_dead_pages(block, kBackgroundRun);
      return;
    }
    bool has_several_chunks = std::popcount(record.chunk_starts.load(std::memory_order_relaxed)) > 1;
    if (thorough || record.backed || has_several_chunks) end_idle_chunks(block);
    release_dead_pages(block, thorough ? 1 : kBackgroundRun);
  });
  retire_idle_large_block();
}

// What no pin holds any more is released. The stop is made without the lock: a thread that waits for it could not be stopped.
void release_unpinned_blocks(bool thorough, bool on_allocating_thread) noexcept {
  uint64_t pinned = block_counters.pinned.load(std::memory_order_relaxed) + block_counters.pinned_huge.load(std::memory_order_relaxed);
  bool more = pinned > pinned_at_last_stop.load(std::memory_order_relaxed);
  size_t released = 0;
  if (!look_for_pins()) return;
  {
    os::LockGuard guard(maintenance_lock);
    released = release_unpinned(thorough || core::knobs.debug ? 1 : kBackgroundRun);
  }
  if (!on_allocating_thread) phase_done("release of unpinned blocks");
  pinned_at_last_stop = pinned - (released < pinned ? released : pinned);
  ticks_between_stops = released != 0 || more ? 1 : std::min(2 * ticks_between_stops.load(), kPatience);
  ticks_to_stop = ticks_between_stops.load();
}

bool may_stop() noexcept {
  if (block_counters.pinned.load(std::memory_order_relaxed) + block_counters.pinned_huge.load(std::memory_order_relaxed) > pinned_at_last_stop) return true;
  if (ticks_to_stop > 1) {
    ticks_to_stop--;
    return false;
  }
  return true;
}

// A tick; meanwhile, what allocations are in a hurry for: frames from sparse blocks, and from dead ones that wait for pins.
void wait_for_tick() noexcept {
  timespec tick = {0, static_cast<long>(kTickNanoseconds)};
  if (hurry.load(std::memory_order_acquire) == 0) syscall(SYS_futex, &hurry, FUTEX_WAIT_PRIVATE, 0, &tick, nullptr, 0);
  // Not for ever: the other work is not to starve, such as trimming the pool of what all these rounds have not needed.
  for (uint64_t start = os::nanoseconds(); hurry.load(std::memory_order_acquire) != 0 && os::nanoseconds() - start < kTickNanoseconds;) {
    hurry.store(0, std::memory_order_release);
    if (should_promote()) {
      promote(PromotionScope::kFragmented);
      phase_done("promotion");
    }
    if (!wait_for_threads()) continue;
    timespec between = {0, kBetweenStopsNanoseconds * ticks_between_stops};
    nanosleep(&between, nullptr);
    release_unpinned_blocks(false, false);
  }
}

void* maintenance_thread(void*) noexcept {
  while (true) {
    // Once a second without being asked: deletions that kill no page wake nobody, and may have left every page half empty.
    timespec second = {1, 0};
    while (work.load(std::memory_order_acquire) == 0 && !should_promote() && !should_sweep() && !should_reclaim()) syscall(SYS_futex, &work, FUTEX_WAIT_PRIVATE, 0, &second, nullptr, 0);
    work.store(0, std::memory_order_release);
    start_prefaulting();
    // Until two rounds in a row had nothing left to give back.
    do {
      wait_for_tick();
      if (should_reclaim() && reclaim() >= 0) phase_done("deletion of what no root reaches");
      maintain(false, false);
    } while (should_promote() || should_sweep() || wait_for_threads() || block_counters.pooled.load(std::memory_order_relaxed) != 0 || block_counters.moved.load(std::memory_order_relaxed) != 0);
  }
  return nullptr;
}

}  // namespace

bool start_background_thread(const char* name, void* (*body)(void*)) noexcept {
  os::SignalMask most = ~(os::signal_bit(SIGSEGV) | os::signal_bit(SIGBUS) | os::signal_bit(kPreemptionSignal)), before;
  os::change_signal_mask(SIG_BLOCK, &most, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, 256 << 10);
  pthread_t thread;
  bool started = pthread_create(&thread, &attributes, body, nullptr) == 0;
  if (started) pthread_setname_np(thread, name);  // for debuggers and profilers
  pthread_attr_destroy(&attributes);
  os::change_signal_mask(SIG_SETMASK, &before, nullptr);
  return started;
}

bool start_maintenance() noexcept {
  bool started = start_background_thread("Freehold", maintenance_thread);
  bool moves = core::knobs.promotion && !core::knobs.debug;
  if (core::knobs.stress.promote != 0 && moves) {
    started = started && start_background_thread("Freehold stress", [](void*) -> void* { promote_for_ever(phase_done); });
  }
  if (core::knobs.stress.reclaim != 0) {
    started = started && start_background_thread("Freehold search", [](void*) -> void* { reclaim_for_ever(phase_done); });
  }
  if (core::knobs.stress.deletion != 0 && moves) {
    started = started && start_background_thread("Freehold pins", [](void*) -> void* { refresh_pins_for_ever(); });
  }
  return started;
}

void lose_background_threads() noexcept {
  work.store(0, std::memory_order_relaxed);
  hurry.store(0, std::memory_order_relaxed);
  threads_are_lost.store(true, std::memory_order_release);
}

void wake_maintenance() noexcept {
  if (work.load(std::memory_order_relaxed) != 0 || work.exchange(1, std::memory_order_acq_rel) != 0) return;
  if (threads_are_lost.load(std::memory_order_relaxed) && threads_are_lost.exchange(false, std::memory_order_acq_rel)) [[unlikely]] start_maintenance();
  syscall(SYS_futex, &work, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

void hurry_maintenance() noexcept {
  if (hurry.load(std::memory_order_relaxed) != 0 || hurry.exchange(1, std::memory_order_acq_rel) != 0) return;
  syscall(SYS_futex, &hurry, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

void call_maintenance() noexcept {
  wake_maintenance();
  hurry_maintenance();
}

void maintain(bool thorough, bool on_allocating_thread) noexcept {
  // A phase holds the lock, its hook does not: the hook may stop threads that wait for the lock here.
  auto phase = [&](const char* name, auto work) noexcept {
    {
      os::LockGuard guard(maintenance_lock);
      work();
    }
    if (!on_allocating_thread) phase_done(name);
  };
  watch_mappings(mappings());
  if (thorough || should_recount()) phase("recount", [] { recount(); });
  if (thorough || dead_pages_weigh()) {
    phase("release of dead pages", [&] {
      for_each_shared_block([&](size_t block) noexcept {
        if (thorough || !is_left_to_promotion(block)) release_dead_pages(block, thorough ? 1 : kBackgroundRun);
      });
    });
  }
  phase("release of idle blocks", [&] { release_idle_blocks(thorough); });
  if (wait_for_threads() && (thorough || may_stop())) release_unpinned_blocks(thorough, on_allocating_thread);
  // Promotion locks each block that it takes, not all of maintenance.
  if (thorough || should_promote()) {
    promote(thorough ? PromotionScope::kSparse : PromotionScope::kFragmented, !on_allocating_thread);
    if (!on_allocating_thread) phase_done("promotion");
    // The block that the copies went to has memory to its end.
    if (thorough) phase("release of idle blocks", [] { release_idle_blocks(true); });
  }
  if (!on_allocating_thread && (thorough || should_sweep()) && dedangle()) phase_done("de-dangling");
  if (thorough) drop_prefaulted();
  if (block_counters.pooled.load(std::memory_order_relaxed) != 0) phase("trim", [&] { thorough ? trim_pool(0) : trim_pool_surplus(); });
  // Empty addresses keep their tables. Many are worth a call or two of the kernel; so are few, once the program takes no more blocks.
  uint64_t recycled = block_counters.recycled.load(std::memory_order_relaxed), moved = block_counters.moved.load(std::memory_order_relaxed);
  bool quiet = recycled_at_last_round.exchange(recycled, std::memory_order_relaxed) == recycled;
  if (moved > kMovedKept || ((thorough || quiet) && moved != 0)) phase("collapse", [] { collapse_moved(0); });
}

void release_what_no_thread_pins() noexcept { release_unpinned_blocks(true, false); }

MaintenancePause::MaintenancePause() noexcept { maintenance_lock.lock(); }
MaintenancePause::~MaintenancePause() { maintenance_lock.unlock(); }

void set_phase_hook(PhaseHook hook) noexcept { phase_hook.store(hook, std::memory_order_release); }

void reset_maintenance() noexcept {
  deleted_at_last_recount = 0;
  recycled_at_last_round.store(0, std::memory_order_relaxed);
}

}  // namespace freehold::heap
