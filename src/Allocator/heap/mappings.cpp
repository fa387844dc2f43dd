#include "heap/mappings.h"

#include <sched.h>

#include "core/knobs.h"
#include "core/module_state.h"
#include "platform/os.h"
#include "platform/userfaultfd.h"

namespace freehold::heap {

std::atomic<bool> mappings_short{false};
FREEHOLD_MODULE_STATE(mappings_short);

namespace {

std::atomic<uint32_t> moves{0};  // under way
struct State {
  // What was counted last, and what the heap's bound was then: since then the number has grown by no more than the bound has, and by what others mapped.
  std::atomic<size_t> counted{0}, bound_when_counted{0};
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

// With mprotect the budget is for dead pages only.
size_t enough() noexcept { return os::has_userfaultfd() ? mapping_budget() : os::mappings_at_most() / 4 * 3; }

void end_moves() noexcept {
  mappings_short.store(true, std::memory_order_seq_cst);
  // A call of the kernel each: microseconds.
  while (moves.load(std::memory_order_seq_cst) != 0) sched_yield();
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
  // Sequentially consistent, as the two words in end_moves(): one of both sees the other.
  moves.fetch_add(1, std::memory_order_seq_cst);
  if (!mappings_short.load(std::memory_order_seq_cst)) return true;
  end_move();
  return false;
}

void end_move() noexcept { moves.fetch_sub(1, std::memory_order_release); }

size_t mapping_budget() noexcept {
  if (core::knobs.map_budget != 0) return core::knobs.map_budget;
  return os::has_userfaultfd() ? os::mappings_at_most() / 4 * 3 : 20'000;
}

size_t count_mappings() noexcept { return os::count_lines("/proc/self/maps"); }

void watch_mappings(size_t bound) noexcept {
  if (!are_mappings_short() && state.counted.load(std::memory_order_relaxed) + bound > enough() + state.bound_when_counted.load(std::memory_order_relaxed)) count(bound);
}

void note_refusal(size_t bound) noexcept {
  // A test's failures, or memory that is short, are no reason. Each count takes time: not again before something has changed.
  if (!are_mappings_short() && bound != state.bound_when_counted.load(std::memory_order_relaxed)) count(bound);
}

}  // namespace freehold::heap
