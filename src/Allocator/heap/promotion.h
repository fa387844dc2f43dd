// Moving the live objects of a sparse block elsewhere while the program runs.
#pragma once

#include <cstddef>

namespace freehold::heap {

// Moves the live objects of one complete block. Returns how many; 0 when the block cannot be moved.
size_t promote_block(size_t block) noexcept;
// The same for all complete blocks of small objects.
size_t promote() noexcept;

}  // namespace freehold::heap
