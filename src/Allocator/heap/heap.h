// The heap as the layers above see it: what the GC interface, the fault handler and the ABI call.
// Owns nothing itself; every function says which threads may call it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heap/allocation.h"
#include "heap/classification.h"
#include "heap/deletion.h"

namespace freehold::heap {

// Reserves the address space and starts the background thread; `limit` bytes of physical memory are what the heap may hold. Called once, from GC_Initialize,
// before any managed code. On failure prints what was wrong and how to mend it, and returns false.
bool initialize(size_t limit) noexcept;

// Figures for System.GC. Any thread.
size_t total_bytes_in_use() noexcept;       // allocated - deleted
uint64_t total_allocated_bytes() noexcept;  // since start, exact up to the open chunks
size_t heap_limit() noexcept;               // of physical memory
size_t resident_bytes() noexcept;           // physical memory held by the heap
uint64_t released_bytes() noexcept;         // given back to the system or recycled

// GC.Collect: recounts suspicious pages, releases dead memory, gives pooled frames back. Any thread, preemptive mode.
void collect() noexcept;

// Forgets everything, the arena excepted. Tests only.
void reset_heap() noexcept;

}  // namespace freehold::heap
