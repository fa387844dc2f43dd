#include "heap/outgrown_arrays.h"

#include <algorithm>

#include "core/arena.h"
#include "core/knobs.h"
#include "core/module_state.h"
#include "core/object.h"
#include "heap/accounting.h"
#include "heap/classification.h"
#include "heap/deletion.h"
#include "heap/forwarding.h"
#include "heap/huge_ends.h"
#include "heap/phases.h"
#include "heap/pin_release.h"
#include "heap/pins.h"
#include "heap/reachability.h"
#include "heap/thread_heap.h"
#include "heap/trace.h"
#include "heap/walk.h"
#include "os/growing_memory.h"
#include "os/kernel.h"

namespace freehold::heap {

using core::arena;
using core::Object;

OutgrownCounters outgrown_counters;
FREEHOLD_MODULE_STATE(outgrown_counters);

namespace {

// A stop for every so many bytes, or for this share of what lives.
constexpr uint64_t kLeastBytes = uint64_t{1} << 20, kShareOfLive = 32, kStressedBytes = uint64_t{1} << 16;

// What a dear stop may leave for the time being: so many bytes, or this share of what else lives.
constexpr uint64_t kLeastPutOff = uint64_t{1} << 26, kShareOfPutOff = 4;

// The last stop, in nanoseconds: until the stacks were read, as deletions cost the same whenever they are made. Under the lock of promotion.
struct State {
  uint64_t ended = 0, took = 0;
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

struct Outgrown {
  uintptr_t object;
  uint64_t size;  // with the header, which lies before the object
  uint32_t element;
  bool is_reached;
};

class StackScan {
 public:
  StackScan(const uint64_t* list, size_t count, const RootSupport* support) noexcept
      : list_(list), count_(count), support_(support), memory_(count * sizeof(Outgrown), kStep) {}
  ~StackScan() { memory_.release(); }
  StackScan(const StackScan&) = delete;
  StackScan& operator=(const StackScan&) = delete;

  // Before the threads are stopped.
  bool reserve() noexcept { return memory_.reserve() && memory_.reach(count_ * sizeof(Outgrown)); }

  // Both between stop and resume, in this order.
  void read_stacks() noexcept {
    take();
    support_->for_each_stack_root([](uintptr_t address, bool, void* scan) { static_cast<StackScan*>(scan)->note_root(address); }, this);
  }
  void remove_unreached(OutgrownArrays* result) noexcept {
    for (Outgrown* outgrown = first(); outgrown != end(); outgrown++) remove(*outgrown, result);
  }

 private:
  static constexpr size_t kStep = size_t{1} << 16;
  static constexpr size_t kElements = 2;  // words: type, length

  Outgrown* first() const noexcept { return reinterpret_cast<Outgrown*>(memory_.start()); }
  Outgrown* end() const noexcept { return first() + found_; }
  uint64_t* elements() const noexcept { return reinterpret_cast<uint64_t*>(current_address(*list_)) + kElements; }

  // Sorted by address, each once: two threads that let one collection grow may both have noted its array.
  void take() noexcept {
    uint64_t* from = elements();
    for (size_t i = 0; i < count_; i++) {
      uint64_t name = from[i];
      if (!arena.contains(name) || is_deleted(reinterpret_cast<Object*>(name))) {
        from[i] = 0;
        continue;
      }
      uintptr_t address = current_address(name);
      Walked walked = look_at(reinterpret_cast<Object*>(address)->start());
      if (walked.step == Step::kObject) first()[found_++] = {address, walked.size, static_cast<uint32_t>(i), false};
      else from[i] = 0;
    }
    std::sort(first(), end(), [](const Outgrown& a, const Outgrown& b) { return a.object != b.object ? a.object < b.object : a.element < b.element; });
    Outgrown* last = first();
    for (Outgrown* outgrown = first(); outgrown != end(); outgrown++) {
      if (last != first() && last[-1].object == outgrown->object) from[outgrown->element] = 0;
      else *last++ = *outgrown;
    }
    found_ = static_cast<size_t>(last - first());
  }

  // The address of an array, or of a place in it, up to the one behind its last element.
  void note_root(uintptr_t address) noexcept {
    if (!arena.contains(address)) return;
    address = current_address(address);
    Outgrown* outgrown = std::upper_bound(first(), end(), address, [](uintptr_t a, const Outgrown& b) { return a < b.object; });
    if (outgrown != first() && address - outgrown[-1].object < outgrown[-1].size) outgrown[-1].is_reached = true;
  }

  void remove(const Outgrown& outgrown, OutgrownArrays* result) noexcept {
    if (outgrown.is_reached) {
      result->bytes += outgrown.size;
      return;
    }
    DeleteResult deleted = delete_keeping_lock(reinterpret_cast<Object*>(outgrown.object));
    if (has_deleted(deleted)) {
      outgrown_counters.arrays.fetch_add(1, std::memory_order_relaxed);
      outgrown_counters.bytes.fetch_add(outgrown.size, std::memory_order_relaxed);
    }
    elements()[outgrown.element] = 0;
  }

  const uint64_t* list_;
  size_t count_;
  const RootSupport* support_;
  os::GrowingMemory memory_;
  size_t found_ = 0;
};

struct Call {
  StackScan* scan;
  OutgrownArrays* kept;
  uint64_t stacks_read;
};

void run_stopped(void* argument) noexcept {
  auto* call = static_cast<Call*>(argument);
  MaintenancePause pause;
  set_threads_stopped(true);  // an array of no elements is finished
  call->scan->read_stacks();
  call->stacks_read = os::nanoseconds();
  call->scan->remove_unreached(call->kept);
  set_threads_stopped(false);
}

}  // namespace

bool is_stop_cheap(uint64_t took, uint64_t since) noexcept {
  constexpr uint64_t kShareOfTime = 64;
  return since / kShareOfTime >= took;
}

bool can_wait(uint64_t noted, uint64_t live) noexcept { return noted < std::max(kLeastPutOff, (live - std::min(noted, live)) / kShareOfPutOff); }

bool delete_outgrown(const uint64_t* list, size_t count, bool at_any_price, OutgrownArrays* result) noexcept {
  const RootSupport* support = root_support();
  StackScan scan(list, count, support);
  const bool stressed = core::knobs.stress.moves(), waits = at_any_price || stressed;
  // If nothing happens: in ever larger steps, since whoever noted them puts them all back.
  result->next_bytes = result->bytes + result->bytes / 4 + kLeastBytes;
  if (support == nullptr || count == 0 || !scan.reserve()) return false;
  // As reclaim() does.
  if (core::knobs.debug) refresh_pins();
  {
    // A round of promotion may take long, and this can wait; but where one follows the other, as a test, it would wait for ever.
    PromotionPauseIfIdle idle(waits);
    if (!idle.paused() || (!waits && can_wait(result->bytes, thread_totals().live_bytes()) && !is_stop_cheap(state.took, os::nanoseconds() - state.ended)))
      return false;
    OutgrownArrays kept = {};
    Call call = {&scan, &kept, 0};
    uint64_t before = os::nanoseconds();
    if (!support->stop(run_stopped, &call)) return false;
    result->bytes = kept.bytes;
    state.ended = os::nanoseconds();
    state.took = call.stacks_read - before;
    uint64_t stop = state.ended - before;
    if (stop > outgrown_counters.longest_stop.load(std::memory_order_relaxed)) outgrown_counters.longest_stop.store(stop, std::memory_order_relaxed);
    trace(TraceKind::kOutgrownStop, stop);
  }
  end_listed_huge();
  outgrown_counters.stops.fetch_add(1, std::memory_order_relaxed);
  if (stressed) result->next_bytes = kStressedBytes;
  else result->next_bytes = std::max({kLeastBytes, thread_totals().live_bytes() / kShareOfLive, 2 * result->bytes});
  if (core::knobs.debug) release_what_no_thread_pins();
  return true;
}

}  // namespace freehold::heap
