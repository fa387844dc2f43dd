// Pins: objects whose address native code or the kernel may hold. Their memory stays where it is, deleted or not, until the last pin goes.
//
// A thread pins by storing a reference into a pinned local, where a walk of its stack finds it, and calling pin(); it unpins by leaving the method,
// and tells nobody. So a block only remembers that something in it *may* be pinned (BlockRecord::stack_pins), until the stacks have shown that
// nothing is. Handles that pin are counted (handle_pins). Who takes memory away, or moves objects, goes by the other column:
//
//   pin()                                        taking away
//   stack_pins = 1                               publish: the block's state, or the `released` bits of its pages
//   (no fence: the other side has membarrier)    membarrier
//   read what is published                       read the pins: none, go on; any, take it back or wait
//
// (In debug mode every object has its own pages, as guarded ones have, and they go at once: there a pin also notes which object it is of, so that the others' can go.)
// At least one side observes the other's store. A dead block that may be pinned is kPooled, but its frames wait on a list of their own (heap/pinned_blocks.h).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace freehold::heap {

struct PinCounters {
  std::atomic<uint64_t> stops, longest_stop;  // stops of the threads to look for pins; nanoseconds
};
extern PinCounters pin_counters;

// Chooses between membarrier and a fence in each pin. Once, before any pin.
void initialize_pins() noexcept;
bool pins_use_membarrier() noexcept;

// The place where the object lies now and stays, of which `address` is a name: of an object, within it, or one past its end. When its memory is
// gone, or going: an address whose use throws (heap/refused_pin.h). The caller holds the same name in a pinned local, and puts the result there. Never faults; any thread
// that is stopped only when it is back.
void* pin(void* address) noexcept;

// A handle pins an object that a pinned local holds too, meanwhile; a handle lets go.
void add_handle_pin(const void* object) noexcept;
void remove_handle_pin(const void* object) noexcept;

// Whether anything in the block (the first one, of a huge object) may be pinned. What pins look at was published before. Costs a microsecond.
bool is_pinned(size_t block) noexcept;

// Of an object with pages of its own (debug mode, guarded): whether a deleted object still has its memory because a thread may have pinned it some time, and only a look at the stacks can tell.
bool has_unchecked_stack_pins(const uint8_t* start) noexcept;
// Likewise: takes the pages of objects that may be pinned out of `pages`, one bit each.
void exclude_pinned(size_t block, uint64_t* pages) noexcept;
// For `forget` below.
void forget_stack_pins(size_t block) noexcept;

// Stops the threads, calls `stopped`, then `pinned` for the contents of each pinned local, then `seen`, and lets them run. The layer above does that: the
// caller is any thread without locks.
struct PinScan {
  void (*stopped)(void* argument);
  void (*pinned)(void* address, void* argument);
  void (*seen)(void* argument);
  void* argument;
};
using PinScanner = bool (*)(const PinScan& scan);  // false: there is nothing to stop yet
void set_pin_scanner(PinScanner scanner) noexcept;

// Finds out what threads still pin, with one stop: calls forget(argument), which calls forget_stack_pins for the blocks that it wants to know about: they
// forget the pins that no pinned local shows any more. False: not possible; nothing has changed. In `forget` the threads are stopped; it may take the
// blocks' lock.
bool refresh_stack_pins(void (*forget)(void* argument), void* argument) noexcept;

// Every block forgets the pins that no pinned local shows any more, with one stop. Without locks.
void refresh_pins() noexcept;
// FREEHOLD_STRESS=deletion: asks for pins for ever. The rounds that a deletion makes cannot, and would find each block pinned that anything ever was.
[[noreturn]] void refresh_pins_for_ever() noexcept;

}  // namespace freehold::heap
