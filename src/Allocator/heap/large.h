// Objects that share no page with others: more than kLargeObject bytes (runs of pages), more than kHugeObject bytes (runs of blocks),
// and, in debug mode, all objects.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/arena.h"
#include "core/knobs.h"
#include "core/object.h"

namespace freehold::heap {

// More bytes than this, and an object shares no page.
inline size_t shared_at_most() noexcept { return core::knobs.debug ? 0 : core::kLargeObject; }

// Zeroed memory for an object (unless `dirty_is_fine`), or null.
uint8_t* allocate_large(size_t size, bool dirty_is_fine) noexcept;
// Its pages die at once. The object's deleted bit is set already. False: the memory is still to go (heap/huge_ends.h).
bool release_large(uint8_t* start, size_t size) noexcept;

// Calls fn for what is left of the block that large objects are cut from, if there is one.
void for_rest_of_large(void (*fn)(uint8_t* start, const uint8_t* end) noexcept) noexcept;

// Gives up the block that large objects are cut from, if all of them are dead. For an idle program.
void retire_idle_large_block() noexcept;

}  // namespace freehold::heap
