// The end of a block: its memory goes, or its frames wait for their next use, and its address is nobody's once nobody uses it.
#pragma once

#include <cstddef>

#include "core/arena.h"

namespace freehold::heap {

// Who allocates from a block is its user. It may die meanwhile, and lose its memory, when maintenance has taken what its owner left idle; but its record
// stays, and says so to an owner who comes back. Any thread; who calls keep_record knows that somebody else is a user meanwhile.
void keep_record(size_t block) noexcept;
void let_record_go(size_t block) noexcept;

// The addresses of so many blocks in a row, which have no memory, end.
void end_blocks(size_t first, size_t count) noexcept;
// Gives a block's memory back for good.
void bury(size_t block) noexcept;

// A block that ends its life takes its pages out of the accounts. Caller holds block_lock.
void forget_pages(core::BlockRecord& record) noexcept;
// What becomes of a dead block that nothing pins: its frames are pooled, or go. It is in no list.
void finish_block(size_t block) noexcept;
// Bytes of a huge object, by its first block.
size_t memory_of_huge(size_t block) noexcept;
// The steps of the end of a dead huge object, by its first block (heap/huge_ends.h). Only the second takes long.
void begin_end_of_huge(size_t block) noexcept;
void give_memory_of_huge_back(size_t block) noexcept;
void finish_end_of_huge(size_t block) noexcept;

}  // namespace freehold::heap
