// Blocks that promotion empties: frozen while their objects are copied, forwarded from then on, until de-dangling has found their last name.
#pragma once

#include <cstddef>
#include <cstdint>

namespace freehold::heap {

// Promotion, one block at a time and one thread at a time. Frozen: what is there can be read, who writes faults and waits. False: the block is not
// one of live small objects, it is pinned, or the kernel refuses; nothing has changed then.
bool freeze_block(size_t block) noexcept;
void thaw_block(size_t block) noexcept;
// Takes a frozen block's memory away: its frames go to the pool. From now on whoever uses an address of it asks its forwarding. False: the kernel
// refuses, it is still frozen.
bool forward_block(size_t block, uint32_t forwarding) noexcept;
// No name of before their promotion is left: blocks that were forwarded are dead from now on, and need no table any more. The promoting thread only.
void retire_forwarded() noexcept;

}  // namespace freehold::heap
