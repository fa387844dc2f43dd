// Memory dies: the last object of a page, the last page of a block, a huge object.
#pragma once

#include <cstddef>

namespace freehold::heap {

// A page's objects are all dead. Once for each page, however many threads come to this conclusion: buries the block with its last page.
void mark_page_dead(size_t page) noexcept;
// Every page of the block is dead. Promotion sees to it when it is at work there: it calls this again when it gives up.
void bury_dead_block(size_t block) noexcept;
// A huge object, by its first block. False: its memory is still to go (heap/huge_ends.h).
bool release_huge(size_t block) noexcept;

}  // namespace freehold::heap
