// Dead pages of a block in which something lives, or is pinned: they lose their memory one run at a time.
#pragma once

#include <cstddef>

namespace freehold::heap {

// Gives the memory of dead pages of live blocks back, in runs of at least `minimum_run` pages. Returns the bytes.
size_t release_dead_pages(size_t block, size_t minimum_run) noexcept;
// The same of a block in any state. Caller holds block_lock.
size_t release_pages(size_t block, size_t minimum_run) noexcept;
// Called between a look at the pins and what it leads to. Tests only; null.
extern void (*after_look_at_pins)() noexcept;

}  // namespace freehold::heap
