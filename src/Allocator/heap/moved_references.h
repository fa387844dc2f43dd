// What block moves have copied while marking (heap/shading.h).
#pragma once

#include <cstddef>
#include <cstdint>

namespace freehold::heap {

// Shades what the references in [destination, destination + size) lead to. On the thread that moved, before its next safe point.
void shade_moved(uint8_t* destination, size_t size) noexcept;

// For the marker, with the threads stopped: calls reference(value, argument) for what moves have stored whose destination could not be looked at beside running threads. False: there were too many,
// and some were not noted.
bool take_moved(void (*reference)(uint64_t value, void* argument) noexcept, void* argument) noexcept;
// Before marking begins.
void forget_moved() noexcept;

}  // namespace freehold::heap
