// One handler of faults for all of Freehold in a process: the managed heap, handles and the meshing malloc say which faults may be theirs, and are asked in turn. What none of them
// answers goes to the handler that was there before, as the kernel would have called it.
//
// Each part is linked with a copy of this file. The functions and the state are weak and hidden, so that in one executable or library there is one dispatcher, whoever comes first. Two of them in
// a process, as with a preloaded libfreehold-mesh.so, chain like any two handlers.
#pragma once

#include <signal.h>
#include <ucontext.h>

#include <cstddef>
#include <cstdint>

namespace freehold::os {

constexpr uint32_t fault_bit(int signal) noexcept { return uint32_t{1} << signal; }

struct FaultOwner {
  uint32_t signals;  // fault_bit of SIGSEGV, SIGBUS, SIGTRAP
  // True: the thread goes on with `context`. Runs on the thread's stack or its alternate one, may be interrupted by further faults, and keeps errno by itself or not. Not called for signals
  // that were sent.
  bool (*answer)(int signal, siginfo_t* information, ucontext_t* context) noexcept;
  // Whose faults these are. A size of 0: any address. Those are asked after all owners of ranges, in the order in which they were added.
  uintptr_t start;
  size_t size;
};

// Where the dispatcher runs if the thread has an alternate stack: there, or only if the handler before it asked for that.
enum class FaultStack : uint8_t { kAlternate, kAsBefore };

// The owner must stay where it is until it is removed. The dispatcher becomes the handler of these signals, even if another one came in between. False: it could not. Any thread.
bool add_fault_owner(const FaultOwner& owner, FaultStack stack) noexcept;
// No thread may be in its `answer`. The handler goes back to what was before when nobody needs it, and nobody else came after it.
void remove_fault_owner(const FaultOwner& owner) noexcept;
// The kernel calls the dispatcher: no other handler has been installed over it.
bool receives_faults(int signal) noexcept;
// What the dispatcher takes for the handler that was there before, as sigaction would have it; either may be null. False: the dispatcher does not have this signal.
bool exchange_foreign_handler(int signal, const struct sigaction* action, struct sigaction* before) noexcept;

}  // namespace freehold::os
