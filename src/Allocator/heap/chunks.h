// Chunks: contiguous pieces of blocks that a thread allocates from by moving a pointer. A chunk is a whole number of windows; what is left of one
// when its thread turns to the next becomes a filler, so that objects and fillers tile every block.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/arena.h"
#include "heap/allocation_context.h"

namespace freehold::heap {

// Gives the context a new chunk that can hold an object of `size` bytes (at most kLargeObject). False: out of memory.
bool next_chunk(AllocationContext* context, size_t size, core::BlockKind kind) noexcept;
// The same with a whole block of the higher generations, for promoted objects.
bool next_promoted_chunk(AllocationContext* context) noexcept;
// Makes the next windows of the chunk usable for an object of `size` bytes. False: it does not fit.
bool extend_window(AllocationContext* context, size_t size) noexcept;
// Turns what is left of the chunk into a filler. The context is empty afterwards.
void close_chunk(AllocationContext* context) noexcept;

// Writes a filler and counts it as deleted: [start, start + size) was never an object's.
void fill(uint8_t* start, size_t size) noexcept;

// Takes the windows of a block that their owners have not used, and makes them fillers: the owner of the chunk finds it ended. For blocks whose owner
// idles; their pages can then be released. What belongs to no chunk yet stays, if it has no memory. Returns the bytes taken. Caller holds the lock of
// maintenance.
size_t end_idle_chunks(size_t block) noexcept;

// What pinned objects are allocated from, by all threads: there are few. Under a lock of heap/allocation.cpp, or with the threads stopped.
AllocationContext& pinned_context() noexcept;
// Calls fn for what no chunk has been cut from yet of each block that several threads share.
void for_each_shared_rest(void (*fn)(uint8_t* start, const uint8_t* end) noexcept) noexcept;

// Counts [start, start + size) of a block as deleted, page by page, and finds the pages that died.
void count_deleted(uintptr_t start, size_t size) noexcept;
// A page whose counter says that all of it is deleted, or that is suspected of lost updates: its objects have the last word. True when it is dead.
bool recount_page(size_t page) noexcept;

}  // namespace freehold::heap
