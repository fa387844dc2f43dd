#include "heap/death_samples.h"

#include <algorithm>
#include <new>

#include "Platform/lock.h"
#include "core/fault_recovery.h"
#include "core/module_state.h"
#include "heap/classification.h"
#include "heap/forwarding.h"
#include "heap/holder_support.h"
#include "heap/stack_store.h"
#include "heap/thread_heap.h"
#include "os/growing_memory.h"

namespace freehold::heap {

namespace {

constexpr size_t kSamplesAtMost = size_t{1} << 20;
constexpr size_t kStep = size_t{1} << 20;

os::Lock lock;  // guards what follows, but for `records`
struct State {
  os::GrowingMemory memory{kSamplesAtMost * sizeof(DeathSample), kStep};
  size_t count = 0, adopted = 0;
  uint64_t births = 0, without_room = 0, lost = 0, untold = 0, changes = 0;
  std::atomic<bool> records{false};

  void release() noexcept { memory.release(); }
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

bool is_gone(uint64_t object) noexcept { return is_deleted(reinterpret_cast<const void*>(current_address(object))); }

}  // namespace

DeathLock::DeathLock() noexcept { lock.lock(); }
DeathLock::~DeathLock() { lock.unlock(); }
void forget_death_lock() noexcept { new (&lock) os::Lock(); }

bool begin_death_samples() noexcept {
  if (!reserve_death_tables() || (state.memory.start() == nullptr && !state.memory.reserve())) return false;
  state.records.store(true, std::memory_order_relaxed);
  return true;
}
void end_death_samples() noexcept { state.records.store(false, std::memory_order_relaxed); }
bool records_deaths() noexcept { return state.records.load(std::memory_order_relaxed); }

void note_birth(core::Object* object, uint64_t weight) noexcept {
  const HolderSupport* support = holder_support();
  if (support == nullptr || !records_deaths()) return;
  FrameSeen frames[kBirthFrames];
  uintptr_t addresses[kBirthFrames];
  size_t count = support->own_frames(frames, kBirthFrames);
  if (count == 0) return;  // the runtime's own, before there is managed code
  for (size_t i = 0; i < count; i++) addresses[i] = frames[i].ip;
  DeathSample sample = {};
  sample.object = reinterpret_cast<uint64_t>(object);
  sample.born = recent_totals().allocated_bytes;
  sample.thread = frames[0].thread;
  sample.stack = remember_stack(addresses, count);
  sample.weight = static_cast<uint32_t>(std::min<uint64_t>(weight >> 10, UINT32_MAX));
  sample.frames = static_cast<uint8_t>(count);
  sample.alive_after = kNotKnown;
  for (size_t i = 0; i < count; i++)
    sample.birth[i] = {static_cast<uint32_t>(frames[i].stack_pointer), static_cast<uint32_t>(frames[i].method), static_cast<uint32_t>(frames[i].ip)};
  DeathLock guard;
  state.births++;
  if (state.memory.reach((state.count + 1) * sizeof(DeathSample))) death_samples()[state.count++] = sample;
  else state.without_room++;
}

DeathSample* death_samples() noexcept { return reinterpret_cast<DeathSample*>(state.memory.start()); }
size_t death_sample_count() noexcept { return state.count; }
uint64_t death_changes() noexcept { return state.changes; }
void note_death_change() noexcept { state.changes++; }
void drop_death_sample(size_t index) noexcept {
  note_death_change();
  if (death_samples()[index].adopted) state.adopted--;
  state.count--;
  if (index != state.count) death_samples()[index] = death_samples()[state.count];
}
void drop_all_death_samples() noexcept {
  note_death_change();
  state.lost += state.count;
  state.without_room += state.count - state.adopted;
  state.count = state.adopted = 0;
}
bool adopt(const DeathSample& sample) noexcept {
  if (state.adopted == kAdoptedAtMost || !state.memory.reach((state.count + 1) * sizeof(DeathSample))) return false;
  state.adopted++;
  death_samples()[state.count++] = sample;
  return true;
}
size_t adopted_count() noexcept { return state.adopted; }
uint64_t births() noexcept { return state.births; }
uint64_t births_without_room() noexcept { return state.without_room; }
uint64_t lost_death_samples() noexcept { return state.lost; }
uint64_t untold_death_samples() noexcept { return state.untold; }
void add_untold_death_sample() noexcept { state.untold++; }

DeathRow row_of(const DeathSample& sample, const core::MethodTable* type, DeathKind kind, uint64_t now) noexcept {
  return {type,
          nullptr,
          0,
          sample.stack,
          0,
          kind,
          sample.alive_after,
          false,
          1,
          uint64_t{sample.weight} << 10,
          sample.seen > sample.born ? sample.seen - sample.born : 0,
          now > sample.born ? now - sample.born : 0};
}

void tell_deleted(const DeathSample& sample, uint64_t now) noexcept {
  if (sample.adopted) return;
  if (sample.type != nullptr) add_death(row_of(sample, sample.type, DeathKind::kDeleted, now));
  else add_untold_death_sample();
}

void refresh_death_samples() noexcept {
  if (!records_deaths()) return;
  uint64_t now = thread_totals().allocated_bytes;
  DeathLock guard;
  for (size_t i = 0; i < state.count;) {
    DeathSample& sample = death_samples()[i];
    Holding& held = sample.held;
    if (is_gone(sample.object)) {
      tell_deleted(sample, now);
      drop_death_sample(i);
      continue;
    }
    sample.object = current_address(sample.object);
    auto refresh = [](core::Object*& holder) noexcept {
      auto address = reinterpret_cast<uint64_t>(holder);
      if (holder == nullptr || !in_arena(address)) return true;
      if (is_gone(address)) return false;
      holder = reinterpret_cast<core::Object*>(current_address(address));
      return true;
    };
    if (!refresh(held.holder)) held.holder_died = true;
    refresh(held.other);
    i++;
  }
}

}  // namespace freehold::heap
