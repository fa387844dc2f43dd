// Dead memory that waits for the end of its pins (heap/pins.h): blocks, huge objects, and pages of live blocks.
#pragma once

#include <cstddef>

namespace freehold::heap {

// A dead block, or huge object, that may be pinned stays as it is, for now.
void keep_for_pins(size_t block) noexcept;
// Finds out what the threads still pin, with one stop, and forgets the pins of all others that stand in the way of a release. Without locks.
// What it may release then waits for release_unpinned. False: not possible now.
bool look_for_pins() noexcept;
// Releases the dead blocks, and dead pages of live blocks, that nothing pins any more. Returns how many blocks and bytes of pages went.
size_t release_unpinned(size_t minimum_run) noexcept;

}  // namespace freehold::heap
