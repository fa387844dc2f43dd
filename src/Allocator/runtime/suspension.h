// Stops the managed threads and walks what they hold. For the verifier and for those who move objects; deletion never needs it.
#pragma once

#include "heap/dedangling.h"
#include "heap/heap.h"
#include "heap/pins.h"
#include "heap/reachability.h"

namespace freehold::runtime {

// Not before the module is registered: there is nothing to stop then, and no object. Nor in a child of a fork that stopped nobody: a stop would wait for its parent's threads.
bool can_stop_others() noexcept;
// Waits until every other managed thread stands at a safe point or runs native code. The caller is not attached, or in preemptive mode, and
// holds no lock that a managed thread may want. Suspensions exclude each other.
void suspend_all() noexcept;
void resume_all() noexcept;

// What the stops of this heap took, until now and the last time, in ticks of System.TimeSpan; calls of suspend_all by others left out.
int64_t total_pause() noexcept;
int64_t last_pause() noexcept;
// Which share of `whole` they were of the time since note_start().
uint32_t pause_share(uint32_t whole) noexcept;
void note_start() noexcept;

// A root on a stack or in thread statics: `slot` holds an object's address, or an address within one (interior).
struct Root {
  void** slot;
  bool interior;
  bool pinned;
};
void for_each_root(void (*fn)(const Root& root, void* argument), void* argument) noexcept;

// The heap's pin scanner. Any thread that holds no lock.
bool scan_pins(const heap::PinScan& scan) noexcept;

// A handle that does not pin: `slot` holds an object's address. Between suspend_all and resume_all.
void for_each_handle(void (*fn)(const Root& root, void* argument), void* argument) noexcept;

// What a remap needs of the runtime (heap/dedangling.h), and marking (heap/reachability.h).
extern const heap::RemapSupport remap_support;
extern const heap::RootSupport root_support;

// Verifies the whole heap with the threads stopped, if that is possible. Returns the number of violations and describes the first one.
int64_t verify_now(char* message, size_t capacity) noexcept;

// The heap's phase hook under FREEHOLD_VERIFY=1: a violation is described, with the phase after which it was seen, and ends the process.
void verify_after_phase(const char* phase) noexcept;

// In the child of a fork, which has none of the parent's other threads. `stand`: they count as stopped; else a stop would wait for them for ever, and there is none any more.
void go_on_without_other_threads(bool stand) noexcept;

}  // namespace freehold::runtime
