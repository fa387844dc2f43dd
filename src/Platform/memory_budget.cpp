#include "Platform/memory_budget.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

#include <new>

#include "Platform/futex.h"
#include "Platform/one_for_all.h"
#include "Platform/settings.h"
#include "Platform/system_call.h"
#include "Platform/time.h"

namespace freehold::os {

namespace {

constexpr uint64_t kLongestWait = 1'000'000'000;  // nanoseconds
constexpr timespec kBetweenLooks = {0, 2'000'000};
// A round wins a little more than was asked for, so that the next allocation does not ask again.
constexpr uint64_t kSpareShare = 32;

BudgetState& state() noexcept { return process_page().budget; }
uint32_t this_process() noexcept { return static_cast<uint32_t>(system_call(SYS_getpid)); }
bool gives_back() noexcept { return state().thread.load(std::memory_order_relaxed) == static_cast<uint32_t>(system_call(SYS_gettid)); }
uint64_t budget_of(uint64_t limit, bool reserve) noexcept { return reserve ? limit : limit - limit / 8; }

unsigned count_owners() noexcept {
  unsigned owners = 0;
  for (const auto& entry : state().owners) owners += entry.load(std::memory_order_relaxed) != nullptr;
  return owners;
}

// A container's limit is for those that share it: a heap alone has a limit of its own.
uint64_t limit_in_force() noexcept {
  uint64_t limit = state().limit.load(std::memory_order_relaxed);
  return limit != 0 && state().of_container.load(std::memory_order_relaxed) && count_owners() < 2 ? 0 : limit;
}

uint64_t sum_of_held(const BudgetOwner* but) noexcept {
  uint64_t sum = 0;
  for (const auto& entry : state().owners) {
    const BudgetOwner* owner = entry.load(std::memory_order_acquire);
    if (owner != nullptr && owner != but) sum += owner->held();
  }
  return sum;
}

bool may_wait() noexcept {
  if (gives_back()) return false;
  for (const auto& entry : state().owners) {
    const BudgetOwner* owner = entry.load(std::memory_order_acquire);
    if (owner != nullptr && !owner->may_wait()) return false;
  }
  return true;
}

bool suffices(uint64_t wanted) noexcept {
  uint64_t budget = budget_of(limit_in_force(), false);
  return sum_of_held(nullptr) + wanted + budget / kSpareShare <= budget;
}

// A full budget of what lives: the next round would win no more, and each allocation would make one.
void note_whether_vain(uint64_t wanted) noexcept {
  constexpr uint64_t kShortest = 20'000'000, kLongest = 1'000'000'000;  // nanoseconds
  BudgetState& s = state();
  uint64_t held = sum_of_held(nullptr), wait = 0;
  if (held + wanted > budget_of(limit_in_force(), false)) {
    wait = s.vain_wait.load(std::memory_order_relaxed) * 2;
    wait = wait < kShortest ? kShortest : wait > kLongest ? kLongest : wait;
  }
  s.vain_held.store(held, std::memory_order_relaxed);
  s.vain_wait.store(wait, std::memory_order_relaxed);
  s.vain_until.store(wait == 0 ? 0 : nanoseconds() + wait, std::memory_order_relaxed);
}

bool would_be_vain() noexcept {
  constexpr uint64_t kChange = 64;  // a share of the budget
  const BudgetState& s = state();
  uint64_t until = s.vain_until.load(std::memory_order_relaxed);
  if (until == 0 || nanoseconds() >= until) return false;
  uint64_t held = sum_of_held(nullptr), then = s.vain_held.load(std::memory_order_relaxed);
  return (held > then ? held - then : then - held) < budget_of(limit_in_force(), false) / kChange;
}

void note_turn(const BudgetOwner* owner, const BudgetOwner* asker, unsigned step, uint64_t held, uint64_t given, uint64_t nanoseconds) noexcept {
  BudgetState& s = state();
  uint64_t number = s.turns.load(std::memory_order_relaxed) + 1;
  GivingBack& turn = s.last_turns[number % BudgetState::kTurns];
  turn.number.store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  turn.owner.store(owner, std::memory_order_relaxed);
  turn.asker.store(asker, std::memory_order_relaxed);
  turn.round.store(s.rounds.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  turn.step.store(step, std::memory_order_relaxed);
  turn.held.store(held, std::memory_order_relaxed);
  turn.given.store(given, std::memory_order_relaxed);
  turn.nanoseconds.store(nanoseconds, std::memory_order_relaxed);
  turn.number.store(number, std::memory_order_release);
  s.turns.store(number, std::memory_order_release);
}

// Cheap steps first; in a step the others before the asker, and who holds most before who holds less.
void give_back_round(const BudgetOwner* asker, uint64_t wanted) noexcept {
  BudgetState& s = state();
  for (unsigned step = 0; step < BudgetState::kSteps; step++) {
    const BudgetOwner* order[BudgetState::kOwners];
    unsigned count = 0;
    for (const auto& entry : s.owners) {
      const BudgetOwner* owner = entry.load(std::memory_order_acquire);
      if (owner == nullptr) continue;
      unsigned at = count++;
      auto weight = [&](const BudgetOwner* one) noexcept { return one == asker ? 0 : one->held() + 1; };
      for (; at > 0 && weight(order[at - 1]) < weight(owner); at--) order[at] = order[at - 1];
      order[at] = owner;
    }
    for (unsigned i = 0; i < count; i++) {
      if (suffices(wanted)) return;
      uint64_t before = order[i]->held(), began = nanoseconds();
      order[i]->give_back(static_cast<GiveBack>(step));
      uint64_t after = order[i]->held(), given = after < before ? before - after : 0, took = nanoseconds() - began;
      s.given[step].fetch_add(given, std::memory_order_relaxed);
      s.nanoseconds[step].fetch_add(took, std::memory_order_relaxed);
      note_turn(order[i], asker, step, before, given, took);
    }
  }
}

void* run(void*) noexcept {
  BudgetState& s = state();
  s.thread.store(static_cast<uint32_t>(system_call(SYS_gettid)), std::memory_order_relaxed);
  while (true) {
    uint32_t asked = s.asked.load(std::memory_order_acquire);
    if (asked == s.done.load(std::memory_order_relaxed)) {
      wait_on(s.asked, asked);
      continue;
    }
    uint64_t wanted = s.wanted.exchange(0, std::memory_order_relaxed);
    give_back_round(s.asker.load(std::memory_order_relaxed), wanted);
    note_whether_vain(wanted);
    s.rounds.fetch_add(1, std::memory_order_relaxed);
    s.done.store(asked, std::memory_order_release);
    wake_all(s.done);
  }
  return nullptr;
}

bool is_thread_there() noexcept {
  uint32_t process = state().process.load(std::memory_order_acquire);
  return process != 0 && process == this_process();
}

}  // namespace

FREEHOLD_ONE_FOR_ALL void set_memory_limit(uint64_t bytes, bool of_container) noexcept {
  state().of_container.store(of_container, std::memory_order_relaxed);
  state().vain_until.store(0, std::memory_order_relaxed);
  state().vain_wait.store(0, std::memory_order_relaxed);
  state().limit.store(bytes, std::memory_order_relaxed);
}
FREEHOLD_ONE_FOR_ALL uint64_t memory_limit() noexcept { return limit_in_force(); }

FREEHOLD_ONE_FOR_ALL bool read_memory_limit(const char* const* environment) noexcept {
  static constexpr char kName[] = "FREEHOLD_MEMORY_LIMIT=";
  for (; environment != nullptr && *environment != nullptr; environment++) {
    if (strncmp(*environment, kName, sizeof kName - 1) != 0) continue;
    const char* value = *environment + sizeof kName - 1;
    uint64_t bytes;
    if (*value == 0) return true;
    if (!settings::parse_limit(value, &bytes)) return false;
    set_memory_limit(bytes == settings::kNoLimit ? 0 : bytes);
    return true;
  }
  return true;
}

FREEHOLD_ONE_FOR_ALL void join_budget(const BudgetOwner& owner) noexcept {
  ProcessPage& page = process_page();
  LockGuard guard(page.lock);
  std::atomic<const BudgetOwner*>* unused = nullptr;
  for (auto& entry : page.budget.owners) {
    const BudgetOwner* other = entry.load(std::memory_order_relaxed);
    if (other == &owner) return;
    if (other == nullptr && unused == nullptr) unused = &entry;
  }
  if (unused != nullptr) unused->store(&owner, std::memory_order_release);
}

FREEHOLD_ONE_FOR_ALL void start_budget_thread() noexcept {
  BudgetState& s = state();
  if (s.limit.load(std::memory_order_relaxed) == 0 || count_owners() < 2) return;
  uint32_t process = s.process.load(std::memory_order_relaxed), now = this_process();
  // One who comes in between goes on without.
  if (process == now || !s.process.compare_exchange_strong(process, now, std::memory_order_acq_rel)) return;
  // It takes no signals that are meant for the program.
  sigset_t most, before;
  sigfillset(&most);
  for (int fault : {SIGSEGV, SIGBUS, SIGTRAP, SIGILL, SIGFPE, SIGABRT}) sigdelset(&most, fault);
  pthread_sigmask(SIG_SETMASK, &most, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, 256 << 10);
  pthread_t thread;
  if (pthread_create(&thread, &attributes, run, nullptr) == 0) pthread_setname_np(thread, "Freehold budget");
  else s.process.store(0, std::memory_order_release);
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

FREEHOLD_ONE_FOR_ALL void leave_parents_budget() noexcept {
  ProcessPage& page = process_page();
  BudgetState& s = page.budget;
  uint32_t now = this_process();
  if (s.child.exchange(now, std::memory_order_relaxed) == now) return;
  new (&page.lock) Lock;
  s.process.store(0, std::memory_order_relaxed);
  s.thread.store(0, std::memory_order_relaxed);  // a thread of the child may get that number
  s.wanted.store(0, std::memory_order_relaxed);
  s.vain_until.store(0, std::memory_order_relaxed);
  s.vain_wait.store(0, std::memory_order_relaxed);
  s.done.store(s.asked.load(std::memory_order_relaxed), std::memory_order_relaxed);  // nobody waits for an answer here
}

FREEHOLD_ONE_FOR_ALL uint64_t room_in_budget(const BudgetOwner& owner, bool reserve) noexcept {
  uint64_t limit = limit_in_force();
  if (limit == 0) return UINT64_MAX;
  uint64_t budget = budget_of(limit, reserve), others = sum_of_held(&owner);
  return budget > others ? budget - others : 0;
}

FREEHOLD_ONE_FOR_ALL uint64_t held_by_all() noexcept { return sum_of_held(nullptr); }
FREEHOLD_ONE_FOR_ALL uint64_t held_by_others(const BudgetOwner& owner) noexcept { return sum_of_held(&owner); }

FREEHOLD_ONE_FOR_ALL bool ask_to_give_back(const BudgetOwner& asker, uint64_t wanted) noexcept {
  BudgetState& s = state();
  uint64_t limit = limit_in_force();
  if (limit == 0 || wanted > budget_of(limit, true) || !is_thread_there() || !may_wait() || would_be_vain()) return false;
  s.asker.store(&asker, std::memory_order_relaxed);
  // Of several who ask before a round begins, the one who wants most.
  for (uint64_t before = s.wanted.load(std::memory_order_relaxed);
       before < wanted && !s.wanted.compare_exchange_weak(before, wanted, std::memory_order_relaxed);) {}
  uint32_t number = s.asked.fetch_add(1, std::memory_order_acq_rel) + 1;
  wake_one(s.asked);
  s.waits.fetch_add(1, std::memory_order_relaxed);
  uint64_t end = nanoseconds() + kLongestWait;
  while (true) {
    uint32_t done = s.done.load(std::memory_order_acquire);
    if (static_cast<int32_t>(done - number) >= 0) return true;
    if (!may_wait() || nanoseconds() > end) break;
    wait_on(s.done, done, &kBetweenLooks);
  }
  s.given_up.fetch_add(1, std::memory_order_relaxed);
  return false;
}

FREEHOLD_ONE_FOR_ALL BudgetFigures budget_figures() noexcept {
  BudgetState& s = state();
  BudgetFigures figures = {
      s.rounds.load(std::memory_order_relaxed), s.waits.load(std::memory_order_relaxed), s.given_up.load(std::memory_order_relaxed), {}, {}};
  for (unsigned i = 0; i < BudgetState::kSteps; i++) {
    figures.given[i] = s.given[i].load(std::memory_order_relaxed);
    figures.nanoseconds[i] = s.nanoseconds[i].load(std::memory_order_relaxed);
  }
  return figures;
}

FREEHOLD_ONE_FOR_ALL unsigned last_budget_turns(BudgetTurn* turns) noexcept {
  const BudgetState& s = state();
  uint64_t end = s.turns.load(std::memory_order_acquire);
  unsigned count = 0;
  for (uint64_t number = end > kBudgetTurns ? end - kBudgetTurns + 1 : 1; number <= end; number++) {
    const GivingBack& turn = s.last_turns[number % kBudgetTurns];
    if (turn.number.load(std::memory_order_acquire) != number) continue;
    const BudgetOwner *owner = turn.owner.load(std::memory_order_relaxed), *asker = turn.asker.load(std::memory_order_relaxed);
    turns[count] = {owner->name,
                    asker->name,
                    turn.round.load(std::memory_order_relaxed),
                    turn.held.load(std::memory_order_relaxed),
                    turn.given.load(std::memory_order_relaxed),
                    turn.nanoseconds.load(std::memory_order_relaxed),
                    static_cast<GiveBack>(turn.step.load(std::memory_order_relaxed))};
    std::atomic_thread_fence(std::memory_order_acquire);
    count += turn.number.load(std::memory_order_relaxed) == number;
  }
  return count;
}

}  // namespace freehold::os
