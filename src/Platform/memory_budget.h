// One budget of memory for a process (FREEHOLD_MEMORY_LIMIT): the managed heap, the heap of handles and the meshing malloc register here, and who wants to grow beyond what is left asks the others
// to give back first.
//
// The heaps may hold seven eighths of the limit. The last eighth is for what is beside them (code, stacks, tables), and for allocations that cannot wait.
//
// Only a thread of its own gives back: it holds no lock and belongs to no stop, so it may stop whomever it wants, and need not know where a thread allocates. A thread that asks waits for it,
// at most a second, and no longer than its waiting holds up a stop (`may_wait`). The answer is a hint: whoever has asked looks again.
#pragma once

#include <cstddef>
#include <cstdint>

#include "Platform/process_page.h"

namespace freehold::os {

// From cheap to dear: memory that waits for its next use; what moves objects or pages; what searches for unreachable objects.
enum class GiveBack : uint8_t { kSpare, kCompact, kReclaim };

// Stays where it is for as long as the process lives.
struct BudgetOwner {
  const char* name;
  uint64_t (*held)() noexcept;               // bytes. Any thread; takes no lock
  void (*give_back)(GiveBack how) noexcept;  // on the budget's thread
  bool (*may_wait)() noexcept;               // of the calling thread: no stop of this owner waits for it
};

// 0: no limit. The last one counts. `of_container`: nobody has asked for it, so it is none while there is one owner alone.
void set_memory_limit(uint64_t bytes, bool of_container = false) noexcept;
uint64_t memory_limit() noexcept;
// The environment's FREEHOLD_MEMORY_LIMIT, for a process without a managed heap, which reads it as its own settings. Before the first thread. False: it is no size.
bool read_memory_limit(const char* const* environment) noexcept;

// Once for each owner; later calls do nothing.
void join_budget(const BudgetOwner& owner) noexcept;
// The thread that gives back, if there is a limit, somebody to give back to somebody else, and no thread yet. Not in malloc. Does nothing when it is there; in the child of a fork it is not.
void start_budget_thread() noexcept;
// In the child of a fork, whose only thread calls it, before anything else here: the budget's thread is not there, and the lock may be that of a thread which is not either. Each part of Freehold may
// call it; the first one counts.
void leave_parents_budget() noexcept;

// The bytes that this owner may hold now, as the others hold what they hold. `reserve`: the last eighth too.
uint64_t room_in_budget(const BudgetOwner& owner, bool reserve) noexcept;
// What all owners hold, and what those but this one do.
uint64_t held_by_all() noexcept;
uint64_t held_by_others(const BudgetOwner& owner) noexcept;

// The others give back until `wanted` bytes fit, then the asker itself. The caller holds no lock that giving back takes. False: it was not done, or not waited for; or a round has won too little a
// moment ago, and nothing has changed since.
bool ask_to_give_back(const BudgetOwner& asker, uint64_t wanted) noexcept;

struct BudgetFigures {
  uint64_t rounds, waits, given_up;
  uint64_t given[BudgetState::kSteps], nanoseconds[BudgetState::kSteps];  // by step: bytes, time
};
BudgetFigures budget_figures() noexcept;

// What one owner gave back when its turn came.
struct BudgetTurn {
  const char *owner, *asker;  // asker: whose question the round answers
  uint64_t round, held, given, nanoseconds;
  GiveBack step;
};
inline constexpr unsigned kBudgetTurns = BudgetState::kTurns;
// The last turns, at most kBudgetTurns, the oldest first; how many they are. Any thread; without one that is being written.
unsigned last_budget_turns(BudgetTurn* turns) noexcept;

}  // namespace freehold::os
