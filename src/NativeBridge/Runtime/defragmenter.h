// Moves objects so that spans become empty and their memory goes back.
//
// A thread of its own watches the heap, from 16 MB on. When the spans hold more than `upper` times what lives in them it moves objects of the
// sparsest spans of each size class into the fullest ones, in stops of about kStopNanoseconds, until it is below `lower`. Between two stops it pauses
// so long that stops take at most `overhead` of the time; when a round gains little, it waits twice as long before the next.
//
// What the threads take to stop is part of the time of a stop, so that long waits leave less for moves.
#pragma once

#include <atomic>
#include <cstdint>

#include "knobs.h"
#include "threads.h"

namespace freehold::bridge {

struct Bounds {
  double lower = 1.05, upper = 1.15;  // bytes of spans / bytes of objects
  double overhead = 0.05;             // share of the time
};

class Defragmenter {
 public:
  // Reads the settings (knobs.h). Ends the process on one that is not allowed.
  void initialize() noexcept;
  // Its thread is not there.
  void after_fork_in_child() noexcept { started_.store(false, std::memory_order_relaxed); }
  // Starts the thread, once. Any thread may call it.
  void start() noexcept;

  // One round over all classes, by the caller, which is outside. Returns the bytes of spans that became empty.
  size_t run_round(const Bounds& bounds) noexcept;
  // A barrier of the service in use that moves everything. The caller is outside.
  void move_everything() noexcept;

  // With all threads stopped, as barriers of the default service. Moves every object that is not pinned, and verifies the heap.
  void move_all_objects() noexcept;
  // Empties what spans can be emptied. Takes as long as it takes.
  void compact_all() noexcept;

  // A slow poll, the thread being outside; and the return from uncompiled code, it being inside. For the stress modes.
  void at_poll(Thread& thread) noexcept {
    if (knobs.stress != 0) stress_step(thread);
  }
  void at_call(Thread& thread) noexcept {
    if (knobs.stress == 0 || !threads::may_leave(thread)) return;
    threads::leave(thread);
    stress_step(thread);
    threads::enter(thread);
  }

  uint64_t rounds() const noexcept { return rounds_.load(std::memory_order_relaxed); }

 private:
  void stress_step(Thread& thread) noexcept;
  size_t compact(uint32_t size_class, const Bounds& bounds) noexcept;
  size_t compact_groups(const Bounds& bounds) noexcept;
  // Stops the threads for `step` until it is false, each time for a little.
  template <typename Step>
  void in_stops(const Bounds& bounds, Step step) noexcept;
  void give_memory_back(size_t keep) noexcept;
  static void* watch(void* self) noexcept;

  std::atomic<uint64_t> events_{0};
  std::atomic<bool> started_{false};
  std::atomic<uint64_t> rounds_{0};
};

extern Defragmenter defragmenter;

}  // namespace freehold::bridge
