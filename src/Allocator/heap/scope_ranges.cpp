#include "heap/scope_ranges.h"

#include <algorithm>
#include <new>

#include "Platform/lock.h"
#include "core/arena.h"
#include "core/module_state.h"
#include "heap/cards.h"
#include "heap/thread_heap.h"

namespace freehold::heap {

namespace {

os::Lock lock;  // guards the words below
struct State {
  size_t threads = 0;            // that have an open scope
  uint64_t lowest = UINT64_MAX;  // address of any of their objects
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

// One range from two. A range lies in one block.
bool continues(const ScopeRange& before, uintptr_t start, uint32_t level) noexcept {
  return before.end == start && before.level == level && start % core::kBlockSize != 0;
}

// What was promoted is elsewhere, and noted there; what is being promoted may stay here after all. Deleted objects that can be read belong to the scope as long: others that they lead
// to need not stay for them.
bool has_objects(const ScopeRange& range) noexcept {
  core::BlockState state = core::arena.blocks[core::arena.block_index(range.start)].state.load(std::memory_order_acquire);
  return range.start < range.end && (state == core::BlockState::kLive || state == core::BlockState::kPooled || state == core::BlockState::kEvacuating);
}

}  // namespace

bool ThreadScopes::add(uintptr_t start, uintptr_t end) noexcept {
  auto level = static_cast<uint32_t>(depth - 1);
  // Large objects mostly follow each other.
  if (count != 0 && continues(ranges()[count - 1], start, level)) {
    ranges()[count - 1].end = end;
    return true;
  }
  if (count == kRanges || !memory.reach((count + 1) * sizeof(ScopeRange))) return false;
  ranges()[count++] = {start, end, level};
  return true;
}

void ThreadScopes::merge_from(uint32_t level) noexcept {
  if (level == 0) {
    count = 0;
    return;
  }
  size_t first = count;
  while (first > 0 && ranges()[first - 1].level >= level) first--;
  if (open[level - 1].keeps) {
    count = first;  // it needs none
    return;
  }
  for (size_t i = first; i < count; i++) ranges()[i].level = level - 1;
  // A scope that goes on for long has many in it, one after the other: what has no objects any more is left out, all of it from time to time.
  constexpr size_t kMany = 64;
  if (count > 2 * looked_at + kMany) first = 0;
  size_t left = first;
  for (size_t i = first; i < count; i++) {
    ScopeRange range = ranges()[i];
    if (!has_objects(range)) continue;
    if (left != 0 && continues(ranges()[left - 1], range.start, range.level)) ranges()[left - 1].end = range.end;
    else ranges()[left++] = range;
  }
  count = left;
  if (first == 0) looked_at = count;
}

void open_first_scope() noexcept {
  os::LockGuard guard(lock);
  state.threads++;
}

void note_stores_to_scopes(uintptr_t start) noexcept {
  os::LockGuard guard(lock);
  if (start >= state.lowest) return;
  state.lowest = start;
  note_stores_from(start);
}

void give_up(ThreadScopes& scopes) noexcept {
  for (size_t i = 0; i < scopes.depth; i++) scopes.open[i].keeps = true;
  scopes.count = scopes.looked_at = 0;
  *scopes.own = {};
}

void note_no_stores() noexcept {
  os::LockGuard guard(lock);
  state.lowest = UINT64_MAX;
  note_stores_from(UINT64_MAX);
}

void forget_own_ranges() noexcept {
  for_each_thread_heap(
      [](const ThreadHeap& heap, void*) noexcept {
        if (heap.scopes != nullptr) *heap.scopes->own = {};
      },
      nullptr);
}

void close_scopes_from(ThreadScopes& scopes, uint32_t level) noexcept {
  scopes.merge_from(level);
  scopes.depth = level;
  if (level != 0) return;
  freehold_scope_range = {};
  os::LockGuard guard(lock);
  if (--state.threads != 0) return;
  state.lowest = UINT64_MAX;
  note_stores_from(UINT64_MAX);
}

void forget_other_scopes(bool has_one) noexcept {
  new (&lock) os::Lock();
  state.threads = has_one ? 1 : 0;
  if (has_one) return;
  state.lowest = UINT64_MAX;
  note_stores_from(UINT64_MAX);
}

bool ScopeIndex::add_all(const ThreadScopes& scopes) noexcept {
  if (scopes.depth == 0) return true;
  for (size_t i = 0; i < scopes.count; i++) {
    const ScopeRange& range = scopes.ranges()[i];
    if (range.start >= range.end) continue;
    if (count_ == kSpans || !memory_.reach((count_ + 1) * sizeof(Span))) return false;
    begin()[count_++] = {range.start, range.end, &scopes, 0, range.level, scopes.open[range.level]};
  }
  return true;
}

bool ScopeIndex::build() noexcept {
  if (!memory_.reserve()) return false;
  for_each_thread_heap(
      [](const ThreadHeap& heap, void* argument) noexcept {
        auto* index = static_cast<ScopeIndex*>(argument);
        if (heap.scopes != nullptr) index->complete_ = index->complete_ && index->add_all(*heap.scopes);
      },
      this);
  std::sort(begin(), end(), [](const Span& a, const Span& b) { return a.start < b.start; });
  if (count_ != 0) {
    lowest_ = begin()->start;
    extent_ = end()[-1].end - lowest_;
  }
  return complete_;
}

const ScopeIndex::Span* ScopeIndex::search(uintptr_t address) const noexcept {
  const Span* behind = std::upper_bound(begin(), end(), address, [](uintptr_t a, const Span& span) { return a < span.start; });
  return behind != begin() && address < behind[-1].end ? behind - 1 : nullptr;
}

}  // namespace freehold::heap
