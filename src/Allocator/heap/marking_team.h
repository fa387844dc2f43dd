// The markers of a cycle: the first, which is the thread that has begun it, and helpers, as many as FREEHOLD_RECLAIM_WORKERS leaves beside it. What no marker has any more may still be in the
// queue of what threads have shaded, or have found no room in a list: the first looks there when all others are at their end (heap/mark_packets.h says when that is).
#pragma once

#include <cstddef>
#include <cstdint>

#include "heap/marker.h"

namespace freehold::heap {

// One at a time, under the lock of places, so that nothing moves. All members are the first's.
class MarkingTeam {
 public:
  MarkingTeam() noexcept;
  ~MarkingTeam();
  MarkingTeam(const MarkingTeam&) = delete;
  MarkingTeam& operator=(const MarkingTeam&) = delete;

  bool mark(uintptr_t address, bool interior = false) noexcept { return first_.mark(address, interior); }
  void scan(const core::Object* object, const core::MethodTable* type, size_t size) noexcept { first_.scan(object, type, size); }
  // Scans what the first has, and what that leads to, as far as it is not given to others.
  void work() noexcept { first_.work(UINT64_MAX, true); }
  // Scans what is marked, what that leads to, and what threads shade meanwhile, until nothing waits.
  void drain() noexcept { drain(UINT64_MAX, false); }
  // The same while the threads are stopped, under a MaintenancePause, without helpers, as far as these have come to their end; false where more than so many objects would have to be scanned.
  bool drain_stopped(uint64_t at_most) noexcept { return drain(at_most, true); }
  // With the threads stopped and nothing waiting: the places of the queue are used again.
  void empty_queue() noexcept;
  // With the threads stopped, when the marking is abandoned: what they have shaded is of no interest to the next one.
  void forget_shaded() noexcept;
  uint64_t scanned() const noexcept { return first_.scanned(); }

 private:
  enum class Scan : uint8_t { kNothing, kDone, kTooMuch };

  bool take_shaded() noexcept;
  Scan scan_overflowed(uint64_t at_most, bool stopped) noexcept;
  bool drain(uint64_t at_most, bool stopped) noexcept;

  Marker first_;
  size_t taken_ = 0;  // of the queue
};

// Markers of a cycle, as the setting and the processors have it.
size_t marking_workers() noexcept;
// How many processors the process may keep busy: those that it may run on, or fewer, where a container has a quota of their time. Before there is a cycle; 0: not known.
void set_process_processors(size_t count) noexcept;

// In the child of a fork.
void forget_markers() noexcept;

}  // namespace freehold::heap
