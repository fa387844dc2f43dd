// The heap of handles in the process's budget of memory (Platform/memory_budget.h).
#pragma once

#include <cstddef>

namespace freehold::bridge::budget {

// Once, when the heap is there.
void join() noexcept;
// Whether the heap may take so many bytes more. If not, the other heaps are asked to give back first. The caller is inside, and stays there: allocation moves nothing, so its own heap is not
// defragmented meanwhile. False: not even the reserve has so much.
bool make_room(size_t bytes) noexcept;

}  // namespace freehold::bridge::budget
