// The meshing malloc in the process's budget of memory (Platform/memory_budget.h).
#pragma once

#include <cstdint>

namespace freehold::mesh::budget {

// Before the first allocation is served. A limit that is no size is told of by who reads the settings.
void join() noexcept;
// In the child of a fork.
void leave_parents() noexcept;
// Bytes that this heap may hold now.
uint64_t room() noexcept;
// The other heaps give back. No lock is held; the caller of malloc may hold any of its own, so the wait is short.
void ask_others(uint64_t bytes) noexcept;

// While it lives, allocations of this thread may take from the reserve.
class Reserve {
 public:
  Reserve() noexcept;
  ~Reserve();
  Reserve(const Reserve&) = delete;
  Reserve& operator=(const Reserve&) = delete;
};

}  // namespace freehold::mesh::budget
