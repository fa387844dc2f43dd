// Debug mode (FREEHOLD_DEBUG): what happened to the objects behind ids, for reports. It is a service in front of the one that was chosen, so that it costs nothing when it is off.
#pragma once

#include <cstddef>
#include <cstdint>

namespace freehold::bridge::history {

// The last object of an id.
struct Object {
  uint32_t allocated, freed;      // stacks (stack_store.h)
  uint32_t allocator, liberator;  // threads, by the kernel's numbers; 0: not freed
  size_t size;                    // in bytes, as it was asked for; 0: the id had no object yet
};

// Once, when the service is chosen and there is no object yet. Ends the process with a message when there is no memory. `stacks`: these too.
void begin(bool stacks) noexcept;
bool is_on() noexcept;
bool has_stacks() noexcept;
// Any id that was given out.
const Object& of(uint32_t id) noexcept;

}  // namespace freehold::bridge::history
