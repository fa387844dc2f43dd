#include "heap/mappings.h"

#include <sched.h>

#include "Platform/lock.h"
#include "core/knobs.h"
#include "core/module_state.h"
#include "heap/addresses.h"
#include "os/kernel.h"
#include "os/userfaultfd.h"

namespace freehold::heap {

std::atomic<bool> mappings_short{false};
FREEHOLD_MODULE_STATE(mappings_short);

namespace {

struct State {
  std::atomic<uint32_t> moves{0};  // under way
  // What was counted last, and what the heap's bound was then: since then the number has grown by no more than the bound has, and by what others mapped.
  std::atomic<size_t> counted{0}, bound_when_counted{0};
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

// Spare mappings are pages of one reserved range, every second of which has a flag that keeps it apart. They are inaccessible, and nobody's.
constexpr size_t kSpares = 256;
constexpr size_t kSparePages = kSpares + 1;
// Heaps with a smaller bound have none: most programs end before they matter.
constexpr size_t kSparesFrom = 80;
// Between two tries to have them again, in ticks of the maintenance thread.
constexpr uint32_t kTicksBetweenTries = 64;

struct Spare {
  os::Lock lock;  // guards the range and the ticks
  uint8_t* range = nullptr;
  uint32_t ticks_to_try = 0;
  std::atomic<size_t> count{0};  // how many; written under the lock, read by counts without

  void release() noexcept {
    if (range != nullptr) os::unreserve(range, kSparePages * os::kPageSize);
  }
};
constinit Spare spare;
FREEHOLD_MODULE_STATE(spare);

// Caller holds the lock.
void join_spares() noexcept {
  // The first page has no flag, whatever it became one with: no mapping is split.
  os::keep_apart(spare.range + os::kPageSize, (kSparePages - 2) * os::kPageSize, os::MappingKind::kNone);
  spare.count.store(0, std::memory_order_relaxed);
}

// Caller holds the lock.
void take_spares() noexcept {
  if (spare.count.load(std::memory_order_relaxed) != 0) return;
  if (spare.ticks_to_try > 1) {
    spare.ticks_to_try--;
    return;
  }
  spare.ticks_to_try = kTicksBetweenTries;
  // Once they were needed: only when there are so many that nobody misses these.
  if (spare.range != nullptr && count_mappings() > os::mappings_at_most() / 4 * 3) return;
  if (spare.range == nullptr) spare.range = static_cast<uint8_t*>(os::reserve(kSparePages * os::kPageSize, os::kPageSize, 0));
  if (spare.range == nullptr) return;
  bool all = true;
  for (size_t page = 1; page + 1 < kSparePages && all; page += 2)
    all = os::keep_apart(spare.range + page * os::kPageSize, os::kPageSize, os::MappingKind::kOdd);
  spare.count.store(kSpares, std::memory_order_relaxed);
  if (!all) join_spares();
  else fill_reserve();
}

void keep_spares(size_t bound) noexcept {
  if (bound < kSparesFrom || spare.count.load(std::memory_order_relaxed) != 0) return;
  // Nobody waits: in the child of a fork, a thread may hold the lock that is not there.
  if (!spare.lock.try_lock()) return;
  take_spares();
  spare.lock.unlock();
}

// With mprotect the budget is for dead pages only.
size_t enough() noexcept { return os::has_userfaultfd() ? mapping_budget() : os::mappings_at_most() / 4 * 3; }

void end_moves() noexcept {
  mappings_short.store(true, std::memory_order_seq_cst);
  // A call of the kernel each: microseconds.
  while (state.moves.load(std::memory_order_seq_cst) != 0) sched_yield();
}

void count(size_t bound) noexcept {
  size_t all = count_mappings();
  state.counted.store(all, std::memory_order_relaxed);
  state.bound_when_counted.store(bound, std::memory_order_relaxed);
  // Near its end, whoever has them: what is left is for stacks of threads, and for what else a program maps.
  if (all > enough() || all > os::mappings_at_most() / 8 * 7) end_moves();
}

}  // namespace

bool begin_move() noexcept {
  if (are_mappings_short()) return false;
  // Sequentially consistent, as the two words in end_moves(): at least one side observes the other's store.
  state.moves.fetch_add(1, std::memory_order_seq_cst);
  if (!mappings_short.load(std::memory_order_seq_cst)) return true;
  end_move();
  return false;
}

void end_move() noexcept { state.moves.fetch_sub(1, std::memory_order_release); }

size_t mapping_budget() noexcept {
  if (core::knobs.map_budget != 0) return core::knobs.map_budget;
  return os::has_userfaultfd() ? os::mappings_at_most() / 4 * 3 : 20'000;
}

size_t count_mappings() noexcept {
  size_t all = os::count_lines("/proc/self/maps"), spares = spare.count.load(std::memory_order_relaxed);
  return all > spares ? all - spares : all;
}

void watch_mappings(size_t bound) noexcept {
  keep_spares(bound);
  if (!are_mappings_short() && state.counted.load(std::memory_order_relaxed) + bound > enough() + state.bound_when_counted.load(std::memory_order_relaxed))
    count(bound);
}

bool note_refusal(size_t bound) noexcept {
  // A test's failures, or memory that is short, are no reason. Each count takes time: not again before something has changed.
  if (!are_mappings_short() && bound != state.bound_when_counted.load(std::memory_order_relaxed)) count(bound);
  if (!are_mappings_short() || spare.count.load(std::memory_order_relaxed) == 0 || !spare.lock.try_lock()) return false;
  bool had_any = spare.count.load(std::memory_order_relaxed) != 0;
  if (had_any) join_spares();
  spare.lock.unlock();
  return had_any;
}

}  // namespace freehold::heap
