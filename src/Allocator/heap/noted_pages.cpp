#include "heap/noted_pages.h"

#include <algorithm>

#include "Platform/lock.h"
#include "core/module_state.h"
#include "heap/scope_notes.h"
#include "os/growing_memory.h"

namespace freehold::heap {

namespace {

os::Lock lock;  // who has it reserves the memory

constexpr size_t kMostPages = size_t{1} << 24, kStep = size_t{1} << 16;
// Of the table, what was taken; all of it, where that is not known.
void empty_notes() noexcept {
  size_t noted = scope_notes.count.load(std::memory_order_relaxed);
  bool all = noted > ScopeNotes::kMost;
  for (size_t i = 0; i < (all ? ScopeNotes::kSlots : noted); i++)
    scope_notes.table[all ? i : scope_notes.slots[i].load(std::memory_order_relaxed)].store(0, std::memory_order_relaxed);
  scope_notes.count.store(0, std::memory_order_relaxed);
  scope_notes.epoch.fetch_add(1, std::memory_order_relaxed);
}

struct State {
  os::GrowingMemory memory{kMostPages * sizeof(NotedPage), kStep};
  size_t count = 0, after_last = 0;  // after_last: how many there were when all were looked at for pages that are there twice
  uint64_t age = 1;                  // of those that were taken over last
  bool lost = false;                 // some could not be taken over

  void release() noexcept {
    memory.release();
    empty_notes();  // of an arena that is not there any more
  }
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

NotedPage* begin() noexcept { return reinterpret_cast<NotedPage*>(state.memory.start()); }
NotedPage* end() noexcept { return begin() + state.count; }

NotedPage* first_since(uint64_t since) noexcept {
  return std::upper_bound(begin(), end(), since, [](uint64_t value, const NotedPage& noted) { return value < noted.age; });
}

bool by_age(const NotedPage& a, const NotedPage& b) noexcept { return a.age < b.age; }
// The youngest of each page first.
bool by_page(const NotedPage& a, const NotedPage& b) noexcept { return a.page != b.page ? a.page < b.page : a.age > b.age; }

// Who needs the older note of a page needs the younger one too.
void leave_youngest(NotedPage* from) noexcept {
  std::sort(from, end(), by_page);
  NotedPage* left = std::unique(from, end(), [](const NotedPage& a, const NotedPage& b) { return a.page == b.page; });
  state.count = static_cast<size_t>(left - begin());
  std::sort(from, end(), by_age);
}

}  // namespace

bool reserve_noted_pages() noexcept {
  os::LockGuard guard(lock);
  return state.memory.start() != nullptr || state.memory.reserve();
}

uint64_t noted_age() noexcept { return state.age; }

bool take_notes_over() noexcept {
  size_t noted = scope_notes.count.load(std::memory_order_relaxed);
  if (noted == 0) return !state.lost;
  bool complete = noted <= ScopeNotes::kMost;
  if (complete && (state.count + noted > kMostPages || !state.memory.reach((state.count + noted) * sizeof(NotedPage)))) {
    leave_youngest(begin());
    complete = state.memory.reach((state.count + noted) * sizeof(NotedPage));
  }
  state.age++;
  for (size_t i = 0; complete && i < noted; i++) {
    uint64_t page = scope_notes.table[scope_notes.slots[i].load(std::memory_order_relaxed)].load(std::memory_order_relaxed);
    begin()[state.count++] = {page, state.age};
  }
  if (!complete) {
    state.lost = true;
    state.count = 0;
  }
  empty_notes();
  constexpr size_t kMany = 1024;
  if (state.count > 2 * state.after_last + kMany) {
    leave_youngest(begin());
    state.after_last = state.count;
  }
  return !state.lost;
}

void forget_lost_notes() noexcept { state.lost = false; }

NotedPage* noted_since(uint64_t since, size_t* size) noexcept {
  leave_youngest(first_since(since));
  NotedPage* first = first_since(since);
  *size = static_cast<size_t>(end() - first);
  return first;
}

void drop_noted_since(uint64_t since) noexcept {
  NotedPage* left = std::remove_if(first_since(since), end(), [](const NotedPage& noted) { return noted.page == 0; });
  state.count = static_cast<size_t>(left - begin());
}

void drop_noted_until(uint64_t until) noexcept {
  NotedPage* first = first_since(until);
  if (first == begin()) return;
  state.count = static_cast<size_t>(std::move(first, end(), begin()) - begin());
  state.after_last = std::min(state.after_last, state.count);
}

void sort_noted_by_page() noexcept {
  leave_youngest(begin());
  std::sort(begin(), end(), by_page);
}

bool is_noted_since(uint64_t page, uint64_t since) noexcept {
  const NotedPage* found = std::lower_bound(begin(), end(), page, [](const NotedPage& noted, uint64_t value) { return noted.page < value; });
  return found != end() && found->page == page && found->age > since;
}

void sort_noted_by_age() noexcept { std::sort(begin(), end(), by_age); }

}  // namespace freehold::heap
