#include "heap/notices.h"

#include <algorithm>
#include <atomic>

#include "Platform/futex.h"
#include "core/knobs.h"
#include "core/module_state.h"
#include "heap/accounting.h"
#include "heap/thread_heap.h"
#include "os/kernel.h"
#include "os/meshing.h"

namespace freehold::heap {

namespace {

struct State {
  std::atomic<uint32_t> wanted{0};
  // A futex: what is to be told of. Whoever finds it sets bits, the thread that waits takes them all.
  std::atomic<uint32_t> given{0};
  // Whether the last notice of pressure still holds: a hint, set by any thread that gives it, reset by the background thread.
  std::atomic<bool> is_short{false};
  std::atomic<uint64_t> failure_told{0};  // nanoseconds: when it was given because an allocation failed
  std::atomic<uint64_t> live_then{0};     // when growth was told of
  std::atomic<uint64_t> process_memory{0};
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

bool is_wanted(Notice notice) noexcept { return (state.wanted.load(std::memory_order_relaxed) & notice) != 0; }

void give(Notice notice) noexcept {
  state.given.fetch_or(notice, std::memory_order_release);
  os::wake_all(state.given);
}

void give_pressure() noexcept {
  state.is_short.store(true, std::memory_order_relaxed);
  give(kPressure);
}

uint64_t native_memory() noexcept {
  enum : int32_t { kUsed, kCached, kFigures };
  if (!os::has_meshing_malloc()) return 0;
  uint64_t figures[kFigures] = {};
  freehold_mesh_figures(figures, kFigures);
  return figures[kUsed] + figures[kCached];
}

// Whether more than so many eighths are taken, of what the heap may have or of what the process may.
bool heap_takes(uint64_t eighths) noexcept { return memory_footprint() > limit() / 8 * eighths; }
// Of a limit the heaps may have seven eighths.
bool process_takes(uint64_t eighths) noexcept {
  uint64_t memory = state.process_memory.load(std::memory_order_relaxed), limit = os::memory_limit();
  if (limit != 0) memory = limit - limit / 8;
  return memory != 0 && memory_footprint() + os::held_by_others(budget_owner) > memory / 8 * eighths;
}
// That a heap has not given back yet what is dead is no shortage.
bool is_short() noexcept { return (heap_takes(7) && recent_totals().live_bytes() > limit() / 2) || process_takes(7); }
bool is_short_no_more() noexcept { return !heap_takes(6) && !process_takes(6); }

bool has_grown(uint64_t live) noexcept {
  constexpr uint64_t kLeast = 32 << 20;
  uint64_t then = state.live_then.load(std::memory_order_relaxed);
  return live >= then + std::max(kLeast, then / 100 * core::knobs.reclaim_growth);
}

}  // namespace

void listen(uint32_t notices) noexcept { state.wanted.fetch_or(notices, std::memory_order_relaxed); }
void set_process_memory(uint64_t bytes) noexcept { state.process_memory.store(bytes, std::memory_order_relaxed); }

bool take_notice(NoticeGiven* given) noexcept {
  uint32_t notices = state.given.exchange(0, std::memory_order_acquire);
  if (notices == 0) return false;
  *given = {notices, memory_footprint(), thread_totals().live_bytes(), limit(), native_memory(), state.process_memory.load(std::memory_order_relaxed)};
  return true;
}

void wait_for_notice(NoticeGiven* given) noexcept {
  while (!take_notice(given)) os::wait_on(state.given, 0);
}

bool is_notice_due() noexcept {
  if (state.wanted.load(std::memory_order_relaxed) == 0) [[likely]]
    return false;
  if (is_wanted(kPressure) && (state.is_short.load(std::memory_order_relaxed) ? is_short_no_more() : is_short())) return true;
  return is_wanted(kGrowth) && core::knobs.reports_leaks() && has_grown(recent_totals().live_bytes());
}

void give_notice() noexcept {
  if (is_wanted(kPressure)) {
    if (is_short_no_more()) state.is_short.store(false, std::memory_order_relaxed);
    else if (!state.is_short.load(std::memory_order_relaxed) && is_short()) give_pressure();
  }
  if (!is_wanted(kGrowth) || !core::knobs.reports_leaks()) return;
  uint64_t live = thread_totals().live_bytes();
  if (!has_grown(live)) return;
  state.live_then.store(live, std::memory_order_relaxed);
  give(kGrowth);
}

void note_limit_reached() noexcept {
  constexpr uint64_t kBetween = 1'000'000'000;
  if (!is_wanted(kPressure)) return;
  // Whatever became of the footprint in between: an array may never fit.
  uint64_t told = state.failure_told.load(std::memory_order_relaxed), now = os::nanoseconds();
  if (told != 0 && now - told < kBetween) return;
  if (state.failure_told.compare_exchange_strong(told, now, std::memory_order_relaxed)) give_pressure();
}

void give_trace_notice() noexcept { give(kTrace); }
void give_deaths_notice() noexcept { give(kDeaths); }

}  // namespace freehold::heap
