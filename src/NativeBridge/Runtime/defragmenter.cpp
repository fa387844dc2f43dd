#include "defragmenter.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "evacuation.h"
#include "knobs.h"
#include "objects.h"
#include "os.h"
#include "services.h"
#include "statistics.h"

namespace freehold::bridge {

Defragmenter defragmenter;

namespace {

constexpr uint64_t kShortestWait = 100'000, kLongestWait = 60'000'000;  // microseconds between two looks at the heap
constexpr uint64_t kStopNanoseconds = 1'000'000;                        // from the request to the threads
constexpr size_t kUnitsAtATime = 16;
constexpr uint64_t kAfterAbandoned = 1000;  // microseconds, doubled with each stop in a row that was given up
constexpr unsigned kMostDoublings = 6, kMostAbandoned = 20;
constexpr size_t kStressBytes = 1024;         // what an event of the stress pays for: with its page faults a copy takes about a microsecond
constexpr size_t kWorthIt = size_t{4} << 20;  // bytes

}  // namespace

void Defragmenter::initialize() noexcept {
  if (knobs.statistics) atexit(statistics::print);
  pthread_atfork(nullptr, nullptr, [] { defragmenter.after_fork_in_child(); });
  if (knobs.stress == 0) return;
  heap.overwrite_moved();
  threads::always_poll();
}

// Everything moves so often that it is a constant cost for each event, however many objects there are and however large they are.
void Defragmenter::stress_step(Thread&) noexcept {
  uint64_t events = events_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (events < knobs.stress) return;
  if (knobs.stress_moves && knobs.stress != 1) {
    // A handler that interrupts this thread here may poll, too: it must not wait for what the thread has.
    if (!heap.try_lock()) return;
    uint64_t pages = heap.spans().live() / kStressBytes;
    heap.unlock();
    if (events < knobs.stress + table.ever_given_out() / 4 + pages) return;
  }
  events_.store(0, std::memory_order_relaxed);
  if (knobs.stress_moves) return move_everything();
  threads::stop();
  threads::resume();
}

void Defragmenter::move_everything() noexcept { freehold_service_barrier(1); }

// By ids, so that each moves once: a second move could lead back to where it was.
void Defragmenter::move_all_objects() noexcept {
  uint64_t count = table.ever_given_out();
  for (uint64_t id = 1; id <= count; id++) {
    uint64_t handle = HandleTable::handle(static_cast<uint32_t>(id), 0);
    if (HandleTable::is_live(handle)) heap.move(static_cast<uint32_t>(id), reinterpret_cast<void*>(objects::start_of(handle)), nullptr);
  }
  if (const char* wrong = heap.verify()) os::fail("freehold: after everything moved: %s\n", wrong);
}

void Defragmenter::compact_all() noexcept {
  for (uint32_t size_class = 0; size_class < kClasses; size_class++) {
    threads::for_each([&](Thread& thread) { heap.take_loose(thread.cache, size_class); });
    Evacuation evacuation(size_class);
    while (evacuation.move_until(UINT64_MAX)) {}
  }
  for (uint32_t next = 0; heap.compact_groups(UINT64_MAX, &next);) {}
}

// A little at a time: threads that allocate wait for the lock meanwhile.
void Defragmenter::give_memory_back(size_t keep) noexcept {
  bool goes_on = true;
  while (goes_on) {
    heap.lock();
    goes_on = heap.spans().give_back_dirty(keep, kUnitsAtATime);
    heap.unlock();
  }
}

template <typename Step>
void Defragmenter::in_stops(const Bounds& bounds, Step step) noexcept {
  unsigned abandoned = 0;  // in a row
  bool goes_on = true;
  while (goes_on) {
    if (!threads::stop_within(kStopNanoseconds)) {
      if (++abandoned == kMostAbandoned) break;
      os::pause(kAfterAbandoned << (abandoned < kMostDoublings ? abandoned : kMostDoublings));
      continue;
    }
    abandoned = 0;
    uint64_t began = threads::stopped_at(), least = os::nanoseconds() + kStopNanoseconds / 4;
    heap.spans().keep_dirty(true);
    goes_on = step(began + kStopNanoseconds > least ? began + kStopNanoseconds : least);
    heap.spans().keep_dirty(false);
    threads::resume();
    uint64_t time = os::nanoseconds() - began;
    // Not in the stop: it takes the kernel as long as many moves.
    give_memory_back(Spans::kDirtyUnits);
    os::pause(static_cast<uint64_t>(static_cast<double>(time) / 1000 * (1 - bounds.overhead) / bounds.overhead) + 1);
  }
}

size_t Defragmenter::compact(uint32_t size_class, const Bounds& bounds) noexcept {
  Evacuation evacuation(size_class);
  if (!evacuation.is_worth_it()) return 0;
  in_stops(bounds, [&](uint64_t deadline) {
    threads::for_each([&](Thread& thread) { heap.take_loose(thread.cache, size_class); });
    return evacuation.move_until(deadline);
  });
  return evacuation.emptied();
}

size_t Defragmenter::compact_groups(const Bounds& bounds) noexcept {
  auto waste = [] {
    heap.lock();
    uint64_t bytes = heap.group_waste();
    heap.unlock();
    return bytes;
  };
  uint64_t before = waste();
  if (before < kChunk) return 0;
  uint32_t next = 0;
  in_stops(bounds, [&](uint64_t deadline) { return heap.compact_groups(deadline, &next); });
  uint64_t after = waste();
  return before > after ? before - after : 0;
}

size_t Defragmenter::run_round(const Bounds& bounds) noexcept {
  size_t emptied = 0;
  for (uint32_t c = 0; c < kClasses; c++) emptied += compact(c, bounds);
  emptied += compact_groups(bounds);
  give_memory_back(0);
  rounds_.fetch_add(1, std::memory_order_relaxed);
  return emptied;
}

void* Defragmenter::watch(void* pointer) noexcept {
  auto* self = static_cast<Defragmenter*>(pointer);
  // Threads that stand still are waited for in short sleeps: the kernel shall not add its 50 microseconds to each.
  prctl(PR_SET_TIMERSLACK, 1000UL);
  Bounds bounds;
  uint64_t wait = kShortestWait;
  while (true) {
    os::pause(wait);
    heap.lock();
    double used = static_cast<double>(heap.spans().used()), live = static_cast<double>(heap.spans().live() - heap.group_waste());
    heap.unlock();
    if (used < live * bounds.upper || used - live < static_cast<double>(kWorthIt)) {
      wait = kShortestWait;
      continue;
    }
    double gained = static_cast<double>(self->run_round(bounds));
    // What could have been gained, had nothing been pinned, is what is above the lower bound.
    bool paid = gained * 4 >= used - live * bounds.lower;
    wait = paid ? kShortestWait : wait * 2 < kLongestWait ? wait * 2 : kLongestWait;
  }
  return nullptr;
}

void Defragmenter::start() noexcept {
  if (!knobs.defragment || started_.exchange(true, std::memory_order_relaxed)) return;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  // It takes no signals that are meant for the program.
  sigset_t every, before;
  sigfillset(&every);
  pthread_sigmask(SIG_SETMASK, &every, &before);
  pthread_t thread;
  if (pthread_create(&thread, &attributes, watch, this) != 0) started_.store(false, std::memory_order_relaxed);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
}

}  // namespace freehold::bridge
