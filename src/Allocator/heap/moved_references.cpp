#include "heap/moved_references.h"

#include <atomic>

#include "core/arena.h"
#include "core/fault_recovery.h"
#include "core/module_state.h"
#include "core/object.h"
#include "core/references.h"
#include "heap/forwarding.h"
#include "heap/frozen_objects.h"
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
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

template <typename Function>
void for_each_moved_into(const core::Object* object, const core::MethodTable* type, size_t object_size, uint8_t* destination, size_t size,
                         Function function) noexcept {
  auto* begin = reinterpret_cast<uint64_t*>(destination);
  core::for_each_reference_between(object, type, object_size, begin, begin + size / sizeof(uint64_t), [&](uint64_t* slot) noexcept {
    uint64_t value;
    if (core::try_load(slot, &value)) function(value);
  });
}

// False: the object that the destination lies in was not found.
template <typename Function>
bool for_each_moved(uint8_t* destination, size_t size, Function function) noexcept {
  core::Object* object = find_object(reinterpret_cast<uintptr_t>(destination));
  if (object == nullptr) return false;
  Walked walked = look_at(object->start());
  if (walked.step != Step::kObject) return false;
  for_each_moved_into(object, walked.type, walked.size, destination, size, function);
  return true;
}

}  // namespace

void shade_moved(uint8_t* destination, size_t size) noexcept {
  auto shade_name = [](uint64_t value) noexcept { shade(current_address(value)); };
  if (!arena.contains(reinterpret_cast<uintptr_t>(destination))) {
    // Else it is on a stack, which is read again in the last stop.
    if (core::Object* object = find_frozen(reinterpret_cast<uintptr_t>(destination)); object != nullptr)
      for_each_moved_into(object, object->type, object->size(), destination, size, shade_name);
    return;
  }
  if (for_each_moved(destination, size, shade_name)) return;
  size_t index = state.count.fetch_add(1, std::memory_order_relaxed);
  if (index >= kAtMost) return;
  state.moved[index].size = size;
  state.moved[index].destination.store(destination, std::memory_order_release);
}

bool take_moved(void (*reference)(uint64_t value, void* argument) noexcept, void* argument) noexcept {
  size_t count = state.count.load(std::memory_order_relaxed);
  for (size_t i = 0; i < count && i < kAtMost; i++) {
    // Not found: its memory is gone, or its header is.
    for_each_moved(state.moved[i].destination.load(std::memory_order_acquire), state.moved[i].size,
                   [&](uint64_t value) noexcept { reference(value, argument); });
  }
  forget_moved();
  return count <= kAtMost;
}

void forget_moved() noexcept { state.count.store(0, std::memory_order_relaxed); }

}  // namespace freehold::heap
