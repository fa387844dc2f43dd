#include "heap/moved_references.h"

#include <atomic>

#include "core/arena.h"
#include "core/fault_recovery.h"
#include "core/module_state.h"
#include "core/object.h"
#include "core/references.h"
#include "heap/forwarding.h"
#include "heap/shading.h"
#include "heap/walk.h"

namespace freehold::heap {

using core::arena;

namespace {

constexpr size_t kAtMost = 4096;

struct Moved {
  std::atomic<uint8_t*> destination{nullptr};
  size_t size = 0;
};
struct State {
  Moved moved[kAtMost];
  std::atomic<size_t> count{0};
  std::atomic<bool> outside{false};
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

// False: the object that the destination lies in was not found.
template <typename Function>
bool for_each_moved(uint8_t* destination, size_t size, Function function) noexcept {
  core::Object* object = find_object(reinterpret_cast<uintptr_t>(destination));
  if (object == nullptr) return false;
  Walked walked = look_at(object->start());
  if (walked.step != Step::kObject) return false;
  auto* begin = reinterpret_cast<uint64_t*>(destination);
  core::for_each_reference_between(object, walked.type, walked.size, begin, begin + size / sizeof(uint64_t), [&](uint64_t* slot) noexcept {
    uint64_t value;
    if (core::try_load(slot, &value)) function(value);
  });
  return true;
}

}  // namespace

void shade_moved(uint8_t* destination, size_t size) noexcept {
  if (!arena.contains(reinterpret_cast<uintptr_t>(destination))) {
    state.outside.store(true, std::memory_order_relaxed);
    return;
  }
  if (for_each_moved(destination, size, [](uint64_t value) noexcept { shade(current_address(value)); })) return;
  size_t index = state.count.fetch_add(1, std::memory_order_relaxed);
  if (index >= kAtMost) return;
  state.moved[index].size = size;
  state.moved[index].destination.store(destination, std::memory_order_release);
}

MovedReferences take_moved(void (*reference)(uint64_t value, void* argument) noexcept, void* argument) noexcept {
  size_t count = state.count.load(std::memory_order_relaxed);
  MovedReferences taken = {state.outside.load(std::memory_order_relaxed), count > kAtMost};
  for (size_t i = 0; i < count && i < kAtMost; i++) {
    // Not found: its memory is gone, or its header is.
    for_each_moved(state.moved[i].destination.load(std::memory_order_acquire), state.moved[i].size,
                   [&](uint64_t value) noexcept { reference(value, argument); });
  }
  forget_moved();
  return taken;
}

void forget_moved() noexcept {
  state.count.store(0, std::memory_order_relaxed);
  state.outside.store(false, std::memory_order_relaxed);
}

}  // namespace freehold::heap
