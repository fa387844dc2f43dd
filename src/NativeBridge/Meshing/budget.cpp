#include "budget.h"

#include "Platform/memory_budget.h"
#include "heap.h"

namespace freehold::mesh::budget {

namespace {

thread_local constinit bool in_reserve __attribute__((tls_model("initial-exec"))) = false;

// On the budget's thread. The vectors of other threads stay as they are.
void give_back(freehold::os::GiveBack how) noexcept {
  switch (how) {
    case freehold::os::GiveBack::kSpare: purge(); break;
    case freehold::os::GiveBack::kCompact: compact(); break;
    case freehold::os::GiveBack::kReclaim: break;
  }
}

constinit const freehold::os::BudgetOwner owner = {"mesh", []() noexcept { return heap.arena.held_bytes(); }, give_back, []() noexcept { return true; }};

}  // namespace

void join() noexcept { freehold::os::join_budget(owner); }
void leave_parents() noexcept { freehold::os::leave_parents_budget(); }
uint64_t room() noexcept { return freehold::os::room_in_budget(owner, in_reserve); }
void ask_others(uint64_t bytes) noexcept { freehold::os::ask_to_give_back(owner, bytes); }

Reserve::Reserve() noexcept { in_reserve = true; }
Reserve::~Reserve() { in_reserve = false; }

}  // namespace freehold::mesh::budget
