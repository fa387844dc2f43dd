// What the kernel is told of a block: who may use it, where its frames are, when they go back. By userfaultfd or by access rights (docs/internals/README.md); with
// few mappings when these are short (heap/mappings.h).
#pragma once

#include <cstddef>
#include <cstdint>

namespace freehold::heap {

// Chooses userfaultfd or mprotect as the knobs say. False when userfaultfd was demanded and the kernel refuses.
bool initialize_protection() noexcept;
// Whether dead memory is watched by userfaultfd.
bool is_watching() noexcept;
// Whether something dead may have kept its access rights, empty and watched, though its state tells nothing of that any more (kGone).
bool is_dead_memory_accessible() noexcept;
void note_accessible_dead_memory() noexcept;
// From now on memory is protected by its access rights alone. Whether that is new: then what is dead has to lose them (heap/fork.cpp). In the child of a fork.
bool stop_watching() noexcept;
// Whether the blocks of the reserve have memory behind their addresses (heap/addresses.h).
bool is_reserve_mapped() noexcept;

enum class Move : uint8_t { kDone, kLost, kRefused };
// Moves the frames of a block to a fresh address. From the moment that they are moved, the old address faults: userfaultfd watches it already;
// without, it loses its access rights first. kLost: the old address faults, but nothing usable is at the new one. kRefused: the frames are
// where they were.
Move move_block(size_t from, size_t to) noexcept;

// When mappings are short: watches a block and those of its neighbours that live, are full, and have the memory that they were born with. It all becomes one
// mapping, with other runs that are watched already. Full means that all pages have memory, but for what nobody reads: so nothing that lives faults.
bool watch_with_neighbours(size_t block) noexcept;

// Gives a block's memory back: a use of it faults from now on. False: the kernel refuses (too many mappings), and it stays as it is: deleted objects behave as if they were alive.
bool give_block_back(size_t block) noexcept;
// The same for any dead memory. Where the kernel refuses, no address is used again from now on.
void give_back_or_keep(uint8_t* start, size_t size) noexcept;

// Readers go on, writers fault. False: the kernel refuses, and writers go on as well.
bool protect_from_writing(size_t block) noexcept;
// And back. Where the kernel refuses, the process ends: what lives there would look as if it were dead.
void allow_writing(size_t block) noexcept;

}  // namespace freehold::heap
