#include "budget.h"

#include <stdlib.h>
#include <unistd.h>

#include "Platform/memory_budget.h"
#include "defragmenter.h"
#include "heap.h"
#include "knobs.h"
#include "os.h"
#include "services.h"
#include "threads.h"

namespace freehold::bridge::budget {

namespace {

uint64_t held() noexcept { return heap.resident(); }

// Of other services nothing is known: the plain one's memory is malloc's.
void give_back(freehold::os::GiveBack how) noexcept {
  if (!is_defragmenting()) return;
  switch (how) {
    case freehold::os::GiveBack::kSpare:
      heap.lock();
      heap.spans().give_back_dirty(0, SIZE_MAX);
      heap.unlock();
      break;
    case freehold::os::GiveBack::kCompact:
      // Stops may take all the time: others wait for the memory.
      if (knobs.defragment) defragmenter.run_round({1.0, 1.0, 0.5});
      break;
    case freehold::os::GiveBack::kReclaim: break;
  }
}

// A stop of the handles waits for threads that are inside. As soon as one has begun, the thread goes on.
bool may_wait() noexcept {
  const Thread* thread = threads::known();
  return thread == nullptr || threads::is_outside(*thread) || !threads::is_asked_to_stop(*thread);
}

constinit const freehold::os::BudgetOwner owner = {"handles", held, give_back, may_wait};

}  // namespace

void join() noexcept {
  // A managed heap reads its settings before, or later, and has the last word.
  if (freehold::os::memory_limit() == 0 && !freehold::os::read_memory_limit(environ)) {
    os::fail("freehold: FREEHOLD_MEMORY_LIMIT has the value '%s'; expected is a size such as 512M or 4G, or none\n", getenv("FREEHOLD_MEMORY_LIMIT"));
  }
  freehold::os::join_budget(owner);
  freehold::os::start_budget_thread();
}

bool make_room(size_t bytes) noexcept {
  auto fits = [bytes](bool reserve) noexcept { return heap.resident() + bytes <= freehold::os::room_in_budget(owner, reserve); };
  if (fits(false)) [[likely]]
    return true;
  freehold::os::ask_to_give_back(owner, bytes);
  return fits(true);
}

}  // namespace freehold::bridge::budget
