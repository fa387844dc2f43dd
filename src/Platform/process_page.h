// A page that all of Freehold in a process shares, at an address that each part finds by itself: an executable with the managed heap, a preloaded libfreehold-mesh.so, libfreehold_handles.so. Each of them is linked with
// a copy of src/Platform and hides it, so no name of a linker leads from one to the other. Whoever comes first maps the page.
//
// It has the registry of fixed addresses, so that who finds an address taken can say by whom, the one budget of memory (memory_budget.h), and the handlers of faults of all copies, which pass on to
// one another.
#pragma once

#include <signal.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "Platform/lock.h"

namespace freehold::os {

struct FixedRange {
  std::atomic<uintptr_t> start;  // 0: unused. Written last
  size_t size;
  const char* owner;
};

struct BudgetOwner;

// One owner's turn in a round. Written by the budget's thread: the number is 0 while it writes the others, and comes last.
struct GivingBack {
  std::atomic<uint64_t> number;  // of the turn, from 1 on
  std::atomic<const BudgetOwner*> owner, asker;
  std::atomic<uint64_t> round, step, held, given, nanoseconds;  // held: before it
};

// Written by any thread; the words that belong together are under `lock`.
struct BudgetState {
  static constexpr unsigned kOwners = 6, kSteps = 3;
  std::atomic<uint64_t> limit;     // of the process, in bytes; 0: none
  std::atomic<bool> of_container;  // nobody has asked for it
  std::atomic<const BudgetOwner*> owners[kOwners];
  std::atomic<uint32_t> process;          // whose thread it is; 0: there is no thread
  std::atomic<uint32_t> child;            // who has forgotten its parent's thread
  std::atomic<uint32_t> thread;           // its number; 0 before it runs. A word of its module would not do: the heaps of other modules give back on it too
  std::atomic<uint32_t> asked, done;      // futexes: numbers of questions; that of the last question before the last round began
  std::atomic<const BudgetOwner*> asker;  // of the last question
  std::atomic<uint64_t> wanted;           // bytes
  // After a round that has won too little: what all held then, until when no other begins, and how long that was. Hints.
  std::atomic<uint64_t> vain_held, vain_until, vain_wait;
  // Since the start; written by the budget's thread, and by threads that ask.
  std::atomic<uint64_t> rounds, waits, given_up;
  std::atomic<uint64_t> given[kSteps], nanoseconds[kSteps];
  // The last turns: that with number n is at n % kTurns.
  static constexpr unsigned kTurns = 36;
  std::atomic<uint64_t> turns;  // ever
  GivingBack last_turns[kTurns];
};

// A handler that a copy of the dispatcher of faults has installed, and the one that it passes on to.
struct FaultLevel {
  std::atomic<uintptr_t> handler;  // 0: unused. Written last
  std::atomic<int> signal;
  std::atomic<struct sigaction*> previous;
};

struct ProcessPage {
  static constexpr unsigned kRanges = 16, kFaultLevels = 24;
  std::atomic<uint64_t> mark;  // kMark when the page is whole
  Lock lock;
  FixedRange ranges[kRanges];
  BudgetState budget;
  FaultLevel fault_levels[kFaultLevels];  // written under `lock`
};

// Any thread. Where the address is taken by something else, or memory is out, it is a page of this executable or library alone.
ProcessPage& process_page() noexcept;

// Notes what somebody has mapped at a fixed address, for messages. Forgets it when the table is full.
void note_fixed_range(uintptr_t start, size_t size, const char* owner) noexcept;
// Who of us has mapped something in there; null: none of us.
const char* owner_of_fixed_range(uintptr_t start, size_t size) noexcept;

}  // namespace freehold::os
