// The heap's part for groups of a heap profile: whose the chunks are (group_chunks.h), and how objects move within a group.
#include <string.h>

#include "budget.h"
#include "defragmenter.h"
#include "heap.h"
#include "os.h"

namespace freehold::bridge {

namespace {

constexpr uint32_t kLookEvery = 64;  // moves between two looks at the clock
// A chunk is worth to be emptied when less than three quarters of what it could hold lives.
constexpr size_t kSparse = kChunk / 4 * 3;

}  // namespace

void* Heap::allocate_grouped(ThreadCache& cache, uint32_t group, uint32_t id, size_t size) noexcept {
  GroupChunk*& chunk = cache.chunks[group];
  if (chunk != nullptr) {
    if (void* start = chunk->allocate(id, size)) return start;
    if (chunk->reset_if_empty()) return chunk->allocate(id, size);
    lock_.lock();
    give_up_chunk(chunk);
    lock_.unlock();
    chunk = nullptr;
  }
  lock_.lock();
  chunk = take_chunk(group, false);
  if (chunk == nullptr) {
    // Without the lock, which the budget's thread takes.
    lock_.unlock();
    bool may_grow = budget::make_room(kChunk);
    lock_.lock();
    chunk = take_chunk(group, may_grow);
  }
  size_t resident = spans_.resident();
  lock_.unlock();
  if (resident > kDefragmentAbove) defragmenter.start();
  return chunk == nullptr ? nullptr : chunk->allocate(id, size);
}

// Caller holds the lock.
GroupChunk* Heap::take_chunk(uint32_t group, bool may_grow) noexcept {
  if (open_[group] != 0) {
    Span* span = spans_.numbered(open_[group]);
    spans_.unlink(open_[group], span);
    chunk_of(span)->state = GroupChunk::State::kOwned;
    return chunk_of(span);
  }
  Span* span = may_grow ? spans_.make_group(kChunk) : nullptr;
  if (span == nullptr) return nullptr;
  chunk_of(span)->initialize(group);
  chunk_of(span)->state = GroupChunk::State::kOwned;
  has_groups_ = true;
  return chunk_of(span);
}

// Its owner allocates in it no more. Caller holds the lock.
void Heap::give_up_chunk(GroupChunk* chunk) noexcept {
  Span* span = spans_.span_at(reinterpret_cast<uintptr_t>(chunk));
  if (chunk->settle_and_see_if_empty()) return spans_.release(span);
  chunk->state = chunk->has_room() ? GroupChunk::State::kOpen : GroupChunk::State::kFull;
  if (chunk->state == GroupChunk::State::kOpen) spans_.link(open_[chunk->group()], span);
}

void Heap::free_grouped(Span* span, void* start, size_t size) noexcept {
  GroupChunk* chunk = chunk_of(span);
  if (!chunk->free(start, size)) return;
  // It may be gone by now, and even be another one: then there is nothing to do, or the same.
  lock_.lock();
  if (span->kind == SpanKind::kGroup && chunk->state != GroupChunk::State::kOwned && chunk->settle_and_see_if_empty()) {
    if (chunk->state == GroupChunk::State::kOpen) spans_.unlink(open_[chunk->group()], span);
    spans_.release(span);
  }
  lock_.unlock();
}

// Caller holds the lock; all threads are stopped.
bool Heap::move_grouped(uint32_t id, uint8_t* start, Span* span) noexcept {
  GroupChunk* from = chunk_of(span);
  void* begin;
  size_t size;
  if (from->find(reinterpret_cast<uintptr_t>(start), &begin, &size) != id || begin != start) return false;
  GroupChunk*& target = targets_[from->group()];
  uint8_t* to = target == nullptr ? nullptr : static_cast<uint8_t*>(target->allocate(id, size));
  if (to == nullptr) {
    if (target != nullptr) give_up_chunk(target);
    // Not an open one: it may be what is emptied.
    Span* made = spans_.make_group(kChunk);
    target = made == nullptr ? nullptr : chunk_of(made);
    if (target == nullptr) return false;
    target->initialize(from->group());
    target->state = GroupChunk::State::kOwned;
    to = static_cast<uint8_t*>(target->allocate(id, size));
  }
  memcpy(to, start, size);
  HandleTable::change(id, static_cast<uint64_t>(to - start));
  if (overwrite_) memset(start, 0xdb, size);
  moved_bytes_ += size;
  from->free(start, size);
  if (from->state != GroupChunk::State::kOwned && from->settle_and_see_if_empty()) {
    if (from->state == GroupChunk::State::kOpen) spans_.unlink(open_[from->group()], span);
    spans_.release(span);
  }
  return true;
}

uint64_t Heap::group_waste() noexcept {
  uint64_t waste = 0;
  if (!has_groups_) return 0;
  for (size_t unit = 1; unit < spans_.frontier(); unit++) {
    Span* span = spans_.numbered(static_cast<uint32_t>(unit));
    if (span->kind == SpanKind::kSmall) continue;
    if (span->kind == SpanKind::kGroup && chunk_of(span)->state != GroupChunk::State::kOwned) waste += chunk_of(span)->waste();
    unit += span->units - 1;
  }
  return waste;
}

template <typename Visitor>
void Heap::for_each_sparse_chunk(Visitor visit) noexcept {
  for (size_t unit = 1; unit < spans_.frontier(); unit++) {
    Span* span = spans_.numbered(static_cast<uint32_t>(unit));
    if (span->kind == SpanKind::kSmall) continue;
    size_t units = span->units;
    if (span->kind == SpanKind::kGroup && chunk_of(span)->state != GroupChunk::State::kOwned && chunk_of(span)->live_bytes() < kSparse && !visit(span)) return;
    unit += units - 1;
  }
}

bool Heap::compact_groups(uint64_t deadline, uint32_t* next) noexcept {
  if (!has_groups_) return false;
  // Of which groups a chunk at least becomes free.
  uint64_t count[kMostGroups + 1] = {}, live[kMostGroups + 1] = {};
  for_each_sparse_chunk([&](Span* span) {
    count[chunk_of(span)->group()]++;
    live[chunk_of(span)->group()] += chunk_of(span)->live_bytes();
    return true;
  });
  auto is_worth_it = [&](uint32_t group) {
    // What does not fit into the ends of chunks is less than a tenth.
    constexpr uint64_t kHolds = kChunk / 10 * 9;
    uint64_t room = targets_[group] == nullptr ? 0 : targets_[group]->room();
    uint64_t needed = live[group] <= room ? 0 : (live[group] - room + kHolds - 1) / kHolds;
    return needed < count[group];
  };
  bool worth[kMostGroups + 1];
  for (uint32_t group = 0; group <= kMostGroups; group++) worth[group] = is_worth_it(group);
  uint32_t moves = 0;
  bool is_late = false;
  for_each_sparse_chunk([&](Span* span) {
    uint32_t number = spans_.number_of(span);
    if (number < *next || !worth[chunk_of(span)->group()]) return true;
    bool has_moved = false;
    chunk_of(span)->for_each([&](void* start, size_t, uint32_t id) {
      if (is_late) return;
      has_moved |= move(id, start, nullptr);
      is_late = ++moves % kLookEvery == 0 && os::nanoseconds() >= deadline;
    });
    // Each chunk once in a round, and one of which nothing can move now, in one stop: a round has an end.
    *next = is_late && has_moved ? number : number + 1;
    return !is_late;
  });
  if (is_late) return true;
  // Threads go on in what has room.
  lock_.lock();
  for (GroupChunk*& target : targets_) {
    if (target != nullptr) give_up_chunk(target);
    target = nullptr;
  }
  lock_.unlock();
  return false;
}

freehold::os::Violation Heap::verify_chunk(Span* span, size_t* count) noexcept {
  GroupChunk* chunk = chunk_of(span);
  freehold::os::Violation violation;
  auto wrong = [&](const char* what) noexcept { return freehold::os::Violation{what, "unit", spans_.number_of(span), chunk}; };
  if (chunk->group() == 0 || chunk->group() > kMostGroups) return wrong("a chunk is of no group");
  uint32_t objects = 0;
  size_t bytes = 0;
  chunk->for_each([&](void* start, size_t size, uint32_t id) {
    objects++;
    bytes += size;
    if (!table.was_given_out(id) || HandleTable::load(id) + HandleTable::origin(id, 16) != reinterpret_cast<uintptr_t>(start)) {
      violation = {"the entry of an object of a group is not its place", "id", id, start};
    }
  });
  *count += objects;
  if (violation.is_found()) return violation;
  if (objects != chunk->live_objects()) return wrong("a chunk has another number of objects than it counts");
  if (bytes != chunk->live_bytes()) return wrong("a chunk has more or fewer bytes than it counts");
  return {};
}

freehold::os::Violation Heap::verify_open_chunks() noexcept {
  size_t open = 0, listed = 0;
  for (size_t unit = 1; unit < spans_.frontier(); unit += spans_.numbered(static_cast<uint32_t>(unit))->units) {
    Span* span = spans_.numbered(static_cast<uint32_t>(unit));
    open += span->kind == SpanKind::kGroup && chunk_of(span)->state == GroupChunk::State::kOpen;
  }
  for (uint32_t group = 1; group <= kMostGroups; group++) {
    for (uint32_t at = open_[group], before = 0; at != 0; before = at, at = spans_.numbered(at)->next) {
      auto wrong = [&](const char* what) noexcept { return freehold::os::Violation{what, "unit", at, nullptr}; };
      Span* span = spans_.numbered(at);
      if (span->kind != SpanKind::kGroup || chunk_of(span)->state != GroupChunk::State::kOpen || chunk_of(span)->group() != group)
        return wrong("a list of chunks with room leads to what is none");
      if (++listed > open) return wrong("a list of chunks with room is a circle");
      if (span->previous != before) return wrong("a chunk with room does not know the one before it");
    }
  }
  if (listed != open) return {"a chunk with room is in no list", "chunks listed", listed, nullptr};
  return {};
}

}  // namespace freehold::bridge
