// Blocks that promotion empties: kEvacuating while their objects are copied, forwarded from then on, until de-dangling has found their last name.
#pragma once

#include <cstddef>
#include <cstdint>

namespace freehold::heap {

// Promotion, one block at a time and one thread at a time. From now on who pins something in the block waits, in cooperative mode: a stop that the promoting thread asked for would never end.
// Within a stop it may be called: it makes no call of the kernel. False: the block is not one of live small objects; nothing has changed then.
bool claim_for_evacuation(size_t block) noexcept;
// The block is claimed. From now on what is there can be read, who writes faults and waits. False: it is pinned, or the kernel refuses; the claim has ended.
bool begin_evacuation(size_t block) noexcept;
// Of a block that is claimed and not begun, and of one that is begun.
void end_evacuation(size_t block) noexcept;
void give_up_evacuation(size_t block) noexcept;
// Takes the memory of a block that is being evacuated: its frames go to the pool. From now on whoever uses an address of it asks its forwarding. False: the kernel
// refuses, it is still being evacuated.
bool forward_block(size_t block, uint32_t forwarding) noexcept;
// No name of before their promotion is left: blocks that were forwarded are dead from now on, and need no table any more. The promoting thread only.
void retire_forwarded() noexcept;

}  // namespace freehold::heap
