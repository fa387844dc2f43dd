#include "heap/known_stacks.h"

#include <algorithm>
#include <cstring>

#include "Platform/lock.h"
#include "core/fault_recovery.h"
#include "core/module_state.h"

namespace freehold::heap {

KnownStackCounters known_stack_counters;
FREEHOLD_MODULE_STATE(known_stack_counters);

namespace {

struct KnownStack {
  StackOf what;
  const void* thread;
  uintptr_t start;
  uint32_t capacity, count, native;
  uintptr_t slots[WalkedStack::kAtMost], addresses[WalkedStack::kAtMost];
};

// Several stacks begin at one place: a method's calls.
constexpr size_t kSets = 64, kWays = 8;

os::Lock lock;  // guards what follows. Nobody waits for it: a walk does as well, and in the child of a fork nobody may be there to give it back
struct State {
  KnownStack stacks[kSets][kWays] = {};  // memory comes with the first one of a set
  uint8_t next[kSets] = {};              // of a set, the one that the next new one takes the place of
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

size_t set_of(const void* thread, uintptr_t start) noexcept {
  uint64_t hash = (reinterpret_cast<uintptr_t>(thread) ^ start >> 3) * 0x9e3779b97f4a7c15;
  return hash >> (64 - __builtin_ctzl(kSets));
}

// The stack may be another thread's by now, and shorter.
bool is_still_there(const KnownStack& stack) noexcept {
  for (size_t i = 0; i < stack.count; i++) {
    uint64_t word;
    if (!core::try_load(reinterpret_cast<const uint64_t*>(stack.slots[i]), &word) || word != stack.addresses[i]) return false;
  }
  return true;
}

}  // namespace

void WalkedStack::add(uintptr_t slot, uintptr_t address, bool managed) noexcept {
  if (!is_whole_ || slot < start_) {
    // A native frame of the walk itself; a managed one is never below.
    is_whole_ = is_whole_ && !managed;
    return;
  }
  uint64_t word;
  is_whole_ = count_ < kAtMost && core::try_load(reinterpret_cast<const uint64_t*>(slot), &word) && word == address;
  if (!is_whole_) return;
  slots_[count_] = slot;
  addresses_[count_] = address;
  count_++;
  if (!managed) native_ = count_;
}

size_t find_known_stack(StackOf what, const void* thread, uintptr_t start, uintptr_t* addresses, size_t capacity) noexcept {
  if (!lock.try_lock()) return 0;
  size_t told = 0;
  for (const KnownStack& stack : state.stacks[set_of(thread, start)]) {
    if (stack.thread != thread || stack.what != what || stack.start != start || stack.capacity != capacity || !is_still_there(stack)) continue;
    told = stack.count - stack.native;
    std::copy_n(stack.addresses + stack.native, told, addresses);
    break;
  }
  lock.unlock();
  if (told != 0) known_stack_counters.found[static_cast<size_t>(what)].fetch_add(1, std::memory_order_relaxed);
  return told;
}

void remember_known_stack(StackOf what, const void* thread, const WalkedStack& stack, size_t capacity) noexcept {
  if (!stack.is_whole_ || stack.count_ == stack.native_ || !lock.try_lock()) return;
  size_t set = set_of(thread, stack.start_);
  KnownStack& known = state.stacks[set][state.next[set]++ % kWays];
  known.what = what;
  known.thread = thread;
  known.start = stack.start_;
  known.capacity = static_cast<uint32_t>(capacity);
  known.count = static_cast<uint32_t>(stack.count_);
  known.native = static_cast<uint32_t>(stack.native_);
  memcpy(known.slots, stack.slots_, stack.count_ * sizeof(uintptr_t));
  memcpy(known.addresses, stack.addresses_, stack.count_ * sizeof(uintptr_t));
  lock.unlock();
  known_stack_counters.remembered[static_cast<size_t>(what)].fetch_add(1, std::memory_order_relaxed);
}

}  // namespace freehold::heap
