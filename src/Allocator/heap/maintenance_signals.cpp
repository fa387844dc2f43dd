#include "heap/maintenance_signals.h"

#include <time.h>

#include <atomic>

#include "Platform/futex.h"

namespace freehold::heap {

namespace {

// Futexes: 1 while there is something to do. Any thread sets them, the background thread clears them.
std::atomic<uint32_t> work{0};
std::atomic<uint32_t> hurry{0};
std::atomic<bool> unpinned{false};
// Set in the child of a fork, before it has other threads; who takes it back starts them.
std::atomic<bool (*)()> starter{nullptr};

void wait(std::atomic<uint32_t>& word, uint64_t nanoseconds) noexcept {
  timespec time = {static_cast<time_t>(nanoseconds / 1'000'000'000), static_cast<long>(nanoseconds % 1'000'000'000)};
  os::wait_on(word, 0, &time);
}

}  // namespace

void wake_maintenance() noexcept {
  if (work.load(std::memory_order_relaxed) != 0 || work.exchange(1, std::memory_order_acq_rel) != 0) return;
  if (starter.load(std::memory_order_relaxed) != nullptr) [[unlikely]] {
    if (bool (*start)() = starter.exchange(nullptr, std::memory_order_acq_rel); start != nullptr) start();
  }
  os::wake_one(work);
}

void start_at_next_wake(bool (*start)()) noexcept { starter.store(start, std::memory_order_release); }

void hurry_maintenance() noexcept {
  if (hurry.load(std::memory_order_relaxed) != 0 || hurry.exchange(1, std::memory_order_acq_rel) != 0) return;
  os::wake_one(hurry);
}

void call_maintenance() noexcept {
  wake_maintenance();
  hurry_maintenance();
}

bool has_work() noexcept { return work.load(std::memory_order_acquire) != 0; }
void forget_work() noexcept { work.store(0, std::memory_order_release); }
void wait_for_work(uint64_t nanoseconds) noexcept { wait(work, nanoseconds); }
bool has_hurry() noexcept { return hurry.load(std::memory_order_acquire) != 0; }
void forget_hurry() noexcept { hurry.store(0, std::memory_order_release); }
void wait_for_hurry(uint64_t nanoseconds) noexcept { wait(hurry, nanoseconds); }

bool has_blocks_that_wait_for_pins() noexcept { return unpinned.load(std::memory_order_acquire); }
void note_unpinned() noexcept { unpinned.store(true, std::memory_order_release); }
void forget_unpinned() noexcept { unpinned.store(false, std::memory_order_release); }

}  // namespace freehold::heap
