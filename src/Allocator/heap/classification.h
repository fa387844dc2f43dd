// What an address of the arena is, and what has become of the object there.
#pragma once

#include <cstdint>

namespace freehold::heap {

// What an address inside the arena is now. Lock-free, safe in a signal handler.
enum class AddressState { kOutside, kLive, kDeletedMapped, kDead, kNeverUsed };
AddressState classify(const void* address) noexcept;
// Whether header, type and length of an object are there: a deleted one may lose the pages that these lie on one by one. Lock-free, safe in a signal handler.
bool is_whole(const void* object) noexcept;
// True when the object was deleted, or its memory is gone. Never faults.
bool is_deleted(const void* object) noexcept;
// True for [arena start, arena end): whoever faults there is ours to answer. Signal-safe.
bool in_arena(uintptr_t address) noexcept;

// Where to try again after an access to an object has failed: null when its memory is gone for good. Not in a signal handler.
void* find_again(void* object) noexcept;

}  // namespace freehold::heap
