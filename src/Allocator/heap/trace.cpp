#include "heap/trace.h"

#include "core/module_state.h"
#include "heap/notices.h"

namespace freehold::heap {

namespace {

constexpr uint64_t kSlots = 1024;

// A bounded queue of many writers and one reader (D. Vyukov). `turn` is 2 * n while the slot waits for the n-th event that is put there, 2 * n + 1 until it is taken. The writer that got the
// position stores the event, then the turn (release); the reader stores the next turn. A fork between the two leaves a slot that is never full: the child has no reader.
struct Slot {
  std::atomic<uint64_t> turn{0};
  TraceEvent event = {};
};

struct State {
  Slot slots[kSlots];
  std::atomic<uint64_t> written{0};  // positions that writers have got
  std::atomic<uint64_t> lost{0};
  uint64_t taken = 0;  // the reader's
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

}  // namespace

void set_tracing(bool on) noexcept { trace_detail::wanted.store(on, std::memory_order_relaxed); }

void trace_detail::put(const TraceEvent& event) noexcept {
  uint64_t at = state.written.load(std::memory_order_relaxed);
  while (true) {
    Slot& slot = state.slots[at % kSlots];
    uint64_t turn = slot.turn.load(std::memory_order_acquire), free = at / kSlots * 2;
    if (turn < free) {
      state.lost.fetch_add(1, std::memory_order_relaxed);
      break;
    }
    if (turn != free) {
      at = state.written.load(std::memory_order_relaxed);
    } else if (state.written.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) {
      slot.event = event;
      slot.turn.store(free + 1, std::memory_order_release);
      break;
    }
  }
  give_trace_notice();
}

size_t take_traces(TraceEvent* events, size_t capacity, uint64_t* lost) noexcept {
  size_t count = 0;
  for (; count < capacity; count++) {
    Slot& slot = state.slots[state.taken % kSlots];
    uint64_t full = state.taken / kSlots * 2 + 1;
    if (slot.turn.load(std::memory_order_acquire) != full) break;
    events[count] = slot.event;
    slot.turn.store(full + 1, std::memory_order_release);
    state.taken++;
  }
  *lost = state.lost.exchange(0, std::memory_order_relaxed);
  return count;
}

}  // namespace freehold::heap
