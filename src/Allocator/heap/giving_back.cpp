#include "heap/giving_back.h"

#include "Platform/memory_budget.h"
#include "core/knobs.h"
#include "heap/accounting.h"
#include "heap/block_pool.h"
#include "heap/huge_ends.h"
#include "heap/maintenance.h"
#include "heap/reachability.h"
#include "heap/thread_heap.h"

namespace freehold::heap {

namespace {

// On the budget's thread, which allocates nothing. Promotion needs a block before it frees some.
constexpr uint32_t kEmergencyBytes = 256 << 10;

void give_back(os::GiveBack how) noexcept {
  thread_heap.emergency = kEmergencyBytes;
  switch (how) {
    case os::GiveBack::kSpare:
      end_listed_huge();
      drop_prefaulted();
      trim_pool_in_steps(0);
      break;
    case os::GiveBack::kCompact: maintain(true, false); break;
    case os::GiveBack::kReclaim:
      if (!core::knobs.reclaims()) break;
      reclaim();
      maintain(true, false);
      break;
  }
  thread_heap.emergency = 0;
}

}  // namespace

void join_budget(uint64_t limit, bool of_container, bool (*may_wait)() noexcept) noexcept {
  budget_owner.give_back = give_back;
  budget_owner.may_wait = may_wait;
  // The environment's, which the malloc may have read before, is among what the settings say.
  if (limit != 0) os::set_memory_limit(limit, of_container);
  os::join_budget(budget_owner);
  os::start_budget_thread();
}

void ask_for_room(uint64_t bytes) noexcept {
  os::start_budget_thread();  // in the child of a fork
  os::ask_to_give_back(budget_owner, bytes);
}

}  // namespace freehold::heap
