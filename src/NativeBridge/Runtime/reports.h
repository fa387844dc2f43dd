// How a program ends that uses a freed object, frees one again, or frees a pointer into one: with a message that names the object. Usable in handlers; nothing allocates.
#pragma once

#include <cstdint>

namespace freehold::bridge::reports {

void initialize() noexcept;
// An access through the handle of a freed object.
[[noreturn]] void end_by_instruction(uint64_t handle, const void* instruction) noexcept;
// `what`: the mistake. `value`: a handle, or an address in the heap. `caller`: where the program goes on after the call.
[[noreturn]] void end_by_call(const char* what, uint64_t value, const void* caller) noexcept;

}  // namespace freehold::bridge::reports
