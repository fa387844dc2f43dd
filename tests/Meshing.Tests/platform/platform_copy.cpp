// A library with a copy of src/Platform of its own, as Freehold's libraries have.
#include "Platform/fault_dispatcher.h"
#include "Platform/memory_budget.h"
#include "Platform/process_page.h"

using namespace freehold::os;

namespace {

std::atomic<int> asked{0};

// Giving back may need memory: of its own heap, on the budget's thread, which another library has started.
extern const BudgetOwner owner;
void give_back(GiveBack) noexcept {
  asked++;
  ask_to_give_back(owner, 1);
}
constexpr BudgetOwner owner = {"copy", []() noexcept { return uint64_t{200} << 20; }, give_back, []() noexcept { return true; }};

constexpr FaultOwner fault_owner = {fault_bit(SIGSEGV), [](int, siginfo_t*, ucontext_t*) noexcept { return false; }, 0x1000, 0x1000};

}  // namespace

extern "C" {
__attribute__((visibility("default"))) void* page_of_copy() { return &process_page(); }
__attribute__((visibility("default"))) void join_budget_of_copy() { join_budget(owner); }
// How often its owner was asked to give back.
__attribute__((visibility("default"))) int asked_of_copy() { return asked; }
__attribute__((visibility("default"))) const void* owner_of_copy() { return &owner; }
// Its handler of SIGSEGV is put over whatever is there, and taken away.
__attribute__((visibility("default"))) bool dispatch_by_copy() { return add_fault_owner(fault_owner, FaultStack::kAlternate); }
__attribute__((visibility("default"))) void dispatch_no_more() { remove_fault_owner(fault_owner); }
__attribute__((visibility("default"))) bool exchange_by_copy(const struct sigaction* action, struct sigaction* before) {
  return exchange_foreign_handler(SIGSEGV, action, before);
}
}
