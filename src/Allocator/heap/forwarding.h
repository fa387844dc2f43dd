// Where promoted objects are: what Kedia et al. call the remap table (section 4).
//
// The copies of a block's objects follow each other without gaps, so that what lay at a place is found by counting the promoted units before it: any
// address is forwarded in constant time, whatever has become of the copy since. A block with many live objects keeps one bit per unit of 8 bytes
// (1.7% of the address space that it describes; the bitmap is the one of Kermany and Petrank's Compressor, PLDI 2006), a sparse one its runs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/arena.h"

namespace freehold::heap {

// The name of a place that is current: where the object lies now of which `address` was an address once; an address that was never promoted
// is its own. Dead objects keep the last name that they had. Two references are the same if and only if this function says the same of them.
//
// `address` may lie inside an object or one past its end: it belongs to the object that holds the byte before it, since every object begins
// with a header that no reference leads to. Never faults, never blocks; any thread, signal handlers too.
uintptr_t current_address(uintptr_t address) noexcept;

// Both names at one moment, so that they can be compared or subtracted: addresses in one object then differ by what they ever differed by.
void current_addresses(uintptr_t* a, uintptr_t* b) noexcept;
// Two names of one object never lie in the same block: such addresses can be compared and subtracted as they are.
inline bool is_in_one_block(uintptr_t a, uintptr_t b) noexcept { return ((a - 1) ^ (b - 1)) < core::kBlockSize; }
// a - b, of both names at one moment.
intptr_t difference(uintptr_t a, uintptr_t b) noexcept;
// Whether two references name one place. Comparing two results of current_address() is not enough: an object may move between the calls. Inline, as
// managed code asks it of every promoted object that it compares.
inline bool is_same(uintptr_t a, uintptr_t b) noexcept { return is_in_one_block(a, b) ? a == b : difference(a, b) == 0; }

// What is known of an address after a fault there. Signal-safe.
enum class Whereabouts : uint8_t {
  kHere,        // nothing has moved it: live or dead, classify() tells
  kEvacuating,  // being promoted: wait (wait_while_evacuating), then try again
  kMoved,       // current_address() says where to
  kDead,        // its block was promoted without it
};
Whereabouts whereabouts_of(uintptr_t address) noexcept;

// Returns when the address's block is not being evacuated any more: after some hundred microseconds. Signal-safe; deadlock-free, since promotion waits for
// no thread while it evacuates a block.
void wait_while_evacuating(uintptr_t address) noexcept;

// Whether this thread is promoting a block: it must not wait for itself when it meets a page of it that has no memory. Signal-safe.
[[gnu::tls_model("initial-exec")]] extern thread_local constinit bool thread_promotes;

// Which objects of a block will be promoted, and where to.
struct ForwardingDraft {
  static constexpr size_t kWords = core::kBlockSize / core::kUnit / 64;
  uint64_t live[kWords];  // set where such an object lies
  // The copies begin at target[0]; those from the split-th unit on at target[1].
  uintptr_t target[2];
  uint32_t split;
};

// Makes the table of a block that is to be copied. Its number is what BlockRecord::forwarding holds once the block is kForwarded. kNoForwarding: no memory.
// Promotion makes and drops tables, one thread at a time; all others only read.
inline constexpr uint32_t kNoForwarding = UINT32_MAX;
uint32_t make_forwarding(const ForwardingDraft& draft) noexcept;
// Takes back the table that was made last: its block was not promoted after all.
void drop_last_forwarding(uint32_t number) noexcept;
// All tables go. No name of before their promotions may be left anywhere: whoever asked for one would be told that the object is dead.
void drop_all_forwardings() noexcept;
size_t forwarding_bytes() noexcept;

}  // namespace freehold::heap

extern "C" {
// The current name of what a barrier stores.
[[gnu::visibility("hidden")]] uint64_t freehold_current_name(uint64_t reference) noexcept;
}
