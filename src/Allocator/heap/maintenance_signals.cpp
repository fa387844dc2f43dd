#include "heap/maintenance_signals.h"

#include <time.h>

#include <atomic>

#include "Platform/futex.h"
#include "core/module_state.h"

namespace freehold::heap {

namespace {

struct State {
  // Futexes: 1 while there is something to do. Any thread sets them, the background thread clears them.
  std::atomic<uint32_t> work{0};
  std::atomic<uint32_t> hurry{0};
  std::atomic<bool> unpinned{false};
  // Set in the child of a fork, before it has other threads; who takes it back starts them.
  std::atomic<bool (*)()> starter{nullptr};
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

void wait(std::atomic<uint32_t>& word, uint64_t nanoseconds) noexcept {
  timespec time = {static_cast<time_t>(nanoseconds / 1'000'000'000), static_cast<long>(nanoseconds % 1'000'000'000)};
  os::wait_on(word, 0, &time);
}

}  // namespace

void wake_maintenance() noexcept {
  if (state.work.load(std::memory_order_relaxed) != 0 || state.work.exchange(1, std::memory_order_acq_rel) != 0) return;
  if (state.starter.load(std::memory_order_relaxed) != nullptr) [[unlikely]] {
    if (bool (*start)() = state.starter.exchange(nullptr, std::memory_order_acq_rel); start != nullptr) start();
  }
  os::wake_one(state.work);
}

void start_at_next_wake(bool (*start)()) noexcept { state.starter.store(start, std::memory_order_release); }

void hurry_maintenance() noexcept {
  if (state.hurry.load(std::memory_order_relaxed) != 0 || state.hurry.exchange(1, std::memory_order_acq_rel) != 0) return;
  os::wake_one(state.hurry);
}

void call_maintenance() noexcept {
  wake_maintenance();
  hurry_maintenance();
}

bool has_work() noexcept { return state.work.load(std::memory_order_acquire) != 0; }
void forget_work() noexcept { state.work.store(0, std::memory_order_release); }
void wait_for_work(uint64_t nanoseconds) noexcept { wait(state.work, nanoseconds); }
bool has_hurry() noexcept { return state.hurry.load(std::memory_order_acquire) != 0; }
void forget_hurry() noexcept { state.hurry.store(0, std::memory_order_release); }
void wait_for_hurry(uint64_t nanoseconds) noexcept { wait(state.hurry, nanoseconds); }

bool has_blocks_that_wait_for_pins() noexcept { return state.unpinned.load(std::memory_order_acquire); }
void note_unpinned() noexcept { state.unpinned.store(true, std::memory_order_release); }
void forget_unpinned() noexcept { state.unpinned.store(false, std::memory_order_release); }

}  // namespace freehold::heap
