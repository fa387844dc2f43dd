// The heap of handles, if a library of the process brings it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace freehold::runtime {

// The first `count` of src/NativeBridge/Runtime/handle_figures.inc; zeros if there is none. Takes the loader's lock.
void read_handle_figures(uint64_t* values, size_t count) noexcept;

// Null, or what is wrong with it. Stops its threads; takes the loader's lock. In preemptive mode.
const char* verify_handles() noexcept;

}  // namespace freehold::runtime
