#include "heap/scope_deletion.h"

#include <algorithm>
#include <new>

#include "core/arena.h"
#include "core/fault_recovery.h"
#include "core/knobs.h"
#include "core/module_state.h"
#include "core/references.h"
#include "heap/addresses.h"
#include "heap/dead_locks.h"
#include "heap/finalization_queue.h"
#include "heap/forwarding.h"
#include "heap/huge_ends.h"
#include "heap/noted_pages.h"
#include "heap/phases.h"
#include "heap/pin_release.h"
#include "heap/pins.h"
#include "heap/reachability.h"
#include "heap/thread_heap.h"
#include "heap/trace.h"
#include "heap/unreached_objects.h"
#include "heap/walk.h"
#include "os/kernel.h"

namespace freehold::heap {

using core::arena;
using core::BlockKind;
using core::BlockState;
using core::Object;

ScopeCounters scope_counters;
FREEHOLD_MODULE_STATE(scope_counters);

namespace {

using Span = ScopeIndex::Span;

bool has_memory(size_t block) noexcept {
  BlockState state = arena.blocks[block].state.load(std::memory_order_acquire);
  return state == BlockState::kLive || state == BlockState::kPooled;
}

// Calls function(object, walked) for the objects of [start, end) that lie on pages which are not dead; of a range or a page, which ends where its block does at the latest.
template <typename Function>
void for_each_object_between(uintptr_t start, uintptr_t end, Function function) noexcept {
  size_t block = arena.block_index(start);
  const core::BlockRecord& record = arena.blocks[block];
  if (!arena.in_lower_half(start)) {
    Walked walked = look_at(arena.block_start(block));
    if (record.kind == BlockKind::kHuge && walked.step == Step::kObject) function(Object::at(arena.block_start(block)), walked);
    return;
  }
  for (size_t page = arena.page_index(start); page <= arena.page_index(end - 1); page++) {
    if (core::is_page_dead(page)) continue;
    uint8_t* begin = arena.page_start(page);
    for (uint8_t* cursor = first_object(page); cursor != nullptr && cursor < begin + core::kPageSize;) {
      if (reinterpret_cast<uintptr_t>(cursor) >= end || !is_walkable(record, cursor)) break;
      Walked walked = look_at(cursor);
      if (walked.step == Step::kEnd || walked.size == 0) break;
      // What reaches in from the page before was told there.
      if (walked.step == Step::kObject && cursor >= begin && reinterpret_cast<uintptr_t>(cursor) >= start) function(Object::at(cursor), walked);
      cursor += walked.size;
    }
  }
}

// Calls function(object, slot) for each reference on a page of the arena, also of deleted objects that can be read: the program may do so too.
template <typename Function>
void for_each_reference_on(size_t page, Function function) noexcept {
  size_t block = page / core::kPagesPerBlock;
  if (!has_memory(block)) return;
  auto* begin = reinterpret_cast<uint64_t*>(arena.page_start(page));
  auto* end = begin + core::kPageSize / sizeof(uint64_t);
  auto tell = [&](Object* object, const Walked& walked) noexcept {
    core::for_each_reference_between(object, walked.type, walked.size, begin, end, [&](uint64_t* slot) noexcept { function(object, slot); });
  };
  if (!arena.in_lower_half(reinterpret_cast<uintptr_t>(begin))) {
    Object* object = find_object(reinterpret_cast<uintptr_t>(begin));
    Walked walked = object != nullptr ? look_at(object->start()) : Walked{Step::kEnd, 0, 0, nullptr};
    if (walked.step == Step::kObject) tell(object, walked);
    return;
  }
  const core::BlockRecord& record = arena.blocks[block];
  for (uint8_t* cursor = first_object(page); cursor != nullptr && cursor < reinterpret_cast<uint8_t*>(end);) {
    if (!is_walkable(record, cursor)) return;
    Walked walked = look_at(cursor);
    if (walked.step == Step::kEnd || walked.size == 0) return;
    if (walked.step == Step::kObject) tell(Object::at(cursor), walked);
    cursor += walked.size;
  }
}

// The threads are stopped, and nothing is promoted.
class ScopeMarking {
 public:
  ScopeMarking(const ThreadScopes& scopes, uint32_t level) noexcept : scopes_(scopes), level_(level), bits_(most_bytes(), kStep), stack_(most_bytes(), kStep) {}
  ~ScopeMarking() {
    bits_.release();
    stack_.release();
  }
  ScopeMarking(const ScopeMarking&) = delete;
  ScopeMarking& operator=(const ScopeMarking&) = delete;

  // False: no memory. What is not marked may live.
  bool mark_all(const RootSupport& support) noexcept {
    if (!index_.build() || !take_bits() || !stack_.reserve()) return false;
    support.for_each_root(
        [](uintptr_t address, bool interior, void* marking) {
          static_cast<ScopeMarking*>(marking)->mark(address, interior);
          static_cast<ScopeMarking*>(marking)->drain();
        },
        this);
    for_each_finalizable([](uint64_t* slot, void* marking) { static_cast<ScopeMarking*>(marking)->mark(*slot, false); }, this);
    mark_noted();
    drain();
    do {
      found_dependents_ = false;
      support.for_each_dependent(
          [](uintptr_t primary, uintptr_t secondary, void* argument) {
            auto& marking = *static_cast<ScopeMarking*>(argument);
            if (primary == 0 || marking.is_unmarked(primary)) return;
            marking.mark(secondary, false);
            marking.found_dependents_ = marking.found_dependents_ || marking.waiting_ != 0;
            marking.drain();
          },
          this);
    } while (found_dependents_);
    return complete_;
  }

  // Whether it is the scope's, and nothing leads to it.
  bool is_unmarked(uintptr_t address) const noexcept {
    if (!arena.contains(address)) return false;
    address = current_address(address);
    const Span* span = index_.find(address);
    return span != nullptr && is_ending(*span) && (bits()[bit_of(*span, address) / 64] >> (bit_of(*span, address) % 64) & 1) == 0;
  }

  // Calls function(object, walked) for each live object of the scope that nothing leads to.
  template <typename Function>
  void for_each_unmarked(Function function) noexcept {
    for (const Span* span = index_.begin(); span != index_.end(); span++) {
      if (!is_ending(*span) || arena.blocks[arena.block_index(span->start)].state.load(std::memory_order_acquire) != BlockState::kLive) continue;
      for_each_object_between(span->start, span->end, [&](Object* object, const Walked& walked) noexcept {
        size_t bit = bit_of(*span, reinterpret_cast<uintptr_t>(object));
        if ((walked.header & core::kDeletedBit) == 0 && (bits()[bit / 64] >> (bit % 64) & 1) == 0) function(object, walked);
      });
    }
  }

  // Of the notes that were looked at, those stay which lead into scopes that go on; all of them, if this one does.
  void leave_notes(bool ended) noexcept {
    for (size_t i = 0; i < noted_; i++) {
      bool dropped = (pages_[i].page & kDropped) != 0;
      pages_[i].page = dropped && ended ? 0 : pages_[i].page & ~kDropped;
    }
    if (ended && noted_ != 0) drop_noted_since(since());
  }

 private:
  static constexpr size_t kStep = size_t{1} << 16;
  static constexpr uint64_t kDropped = uint64_t{1} << 63;  // of a noted page: nothing more is to be known of it

  static size_t most_bytes() noexcept { return std::min(arena.size / core::kUnit / 8, size_t{1} << 32); }
  uint64_t* bits() const noexcept { return reinterpret_cast<uint64_t*>(bits_.start()); }
  uintptr_t* stack() const noexcept { return reinterpret_cast<uintptr_t*>(stack_.start()); }
  bool is_ending(const Span& span) const noexcept { return span.owner == &scopes_ && span.level >= level_; }
  // Whether the scope's objects there are those of a scope that goes on, after it has ended.
  bool goes_on(const Span& span) const noexcept { return !is_ending(span) || level_ != 0; }
  static size_t bit_of(const Span& span, uintptr_t address) noexcept { return span.bits + (address - span.start) / core::kUnit; }

  bool take_bits() noexcept {
    const AllocationContext* context = thread_heap.context;
    size_t count = 0;
    for (Span* span = index_.begin(); span != index_.end(); span++) {
      if (!is_ending(*span)) continue;
      // Of the chunk that it fills, only what it has filled.
      if (context != nullptr && span->end == reinterpret_cast<uintptr_t>(context->chunk_end))
        span->end = std::max(span->start, reinterpret_cast<uintptr_t>(context->alloc_ptr) - core::kHeaderSize);
      span->bits = count;
      count += (span->end - span->start) / core::kUnit + 1;
    }
    return bits_.reserve() && bits_.reach(count / 8 + sizeof(uint64_t));
  }

  void mark(uintptr_t address, bool interior) noexcept {
    if (!arena.contains(address)) return;
    address = current_address(address);
    // One past the end of an object is still its.
    const Span* span = index_.find(interior ? address - 1 : address);
    if (span == nullptr || !is_ending(*span)) return;
    if (interior) address = reinterpret_cast<uintptr_t>(find_object(address - 1));
    if (address <= span->start || address >= span->end || !has_memory(arena.block_index(address))) return;
    uint64_t type;
    if (!core::try_load(reinterpret_cast<const uint64_t*>(address), &type) || type == 0) return;
    size_t bit = bit_of(*span, address);
    uint64_t& word = bits()[bit / 64];
    if ((word >> (bit % 64) & 1) != 0) return;
    word |= uint64_t{1} << (bit % 64);
    if (!stack_.reach((waiting_ + 1) * sizeof(uintptr_t))) complete_ = false;
    else stack()[waiting_++] = address;
  }

  void drain() noexcept {
    while (waiting_ != 0) {
      auto* object = reinterpret_cast<Object*>(stack()[--waiting_]);
      Walked walked = look_at(object->start());
      if (walked.step != Step::kObject) continue;
      core::for_each_reference(object, walked.type, walked.size, [this](uint64_t* slot) noexcept {
        uint64_t value;
        if (core::try_load(slot, &value)) mark(value, false);
      });
    }
  }

  uint64_t since() const noexcept { return scopes_.open[level_].since; }

  void mark_noted() noexcept {
    pages_ = noted_since(since(), &noted_);
    for (size_t i = 0; i < noted_; i++) {
      uintptr_t page = pages_[i].page;
      keeps_page_ = false;
      if (arena.contains(page * core::kPageSize)) mark_page(arena.page_index(page * core::kPageSize));
      else mark_words(reinterpret_cast<const uint64_t*>(page * core::kPageSize));
      pages_[i].page = keeps_page_ ? page : page | kDropped;
    }
  }

  void mark_page(size_t page) noexcept {
    for_each_reference_on(page, [this](Object* object, uint64_t* slot) noexcept {
      uint64_t value;
      if (!core::try_load(slot, &value) || !arena.contains(value)) return;
      const Span* target = index_.find(current_address(value));
      if (target == nullptr) return;
      keeps_page_ = keeps_page_ || goes_on(*target);
      const Span* source = index_.find(reinterpret_cast<uintptr_t>(object));
      if (source == nullptr || !is_ending(*source)) mark(value, false);
    });
  }

  // Fields of the runtime's, or a stack: any word may look like a reference.
  void mark_words(const uint64_t* words) noexcept {
    for (size_t i = 0; i < core::kPageSize / sizeof(uint64_t); i++) {
      uint64_t value;
      if (!core::try_load(words + i, &value)) return;
      if (!arena.contains(value)) continue;
      uintptr_t address = current_address(value);
      const Span* target = index_.find(address);
      if (target == nullptr || reinterpret_cast<uintptr_t>(find_object(address)) != address) continue;
      keeps_page_ = keeps_page_ || goes_on(*target);
      mark(address, false);
    }
  }

  const ThreadScopes& scopes_;
  uint32_t level_;
  ScopeIndex index_;
  os::GrowingMemory bits_, stack_;
  size_t waiting_ = 0, noted_ = 0;
  NotedPage* pages_ = nullptr;
  bool complete_ = true, found_dependents_ = false, keeps_page_ = false;
};

struct Ending {
  ThreadScopes& scopes;
  uint32_t level;
  const uint64_t* array;
  ScopeDeletion* result;
  bool done;
};

// FREEHOLD_VERIFY: what a marking of the whole heap reaches stays.
void check_marks(const ScopeMarking& marking) noexcept {
  for_each_reached(
      [](Object* object, void* marking) noexcept {
        if (static_cast<const ScopeMarking*>(marking)->is_unmarked(reinterpret_cast<uintptr_t>(object)))
          os::fail_fast("the end of a scope has lost an object.", "Report it; without Heap.Scope the program goes on.");
      },
      const_cast<ScopeMarking*>(&marking));
}

// A piece of a chunk that was promoted, as its owner seemed idle: stores to it go elsewhere, and are to be noted again. Without room for the notes nothing can be decided in what is open.
void look_at_thread(const ThreadHeap& heap, void* overflowed) noexcept {
  ThreadScopes* scopes = heap.scopes;
  if (scopes == nullptr || scopes->depth == 0) return;
  FreeholdScopeRange& own = *scopes->own;
  if (own.size != 0 && arena.blocks[arena.block_index(own.start)].state.load(std::memory_order_acquire) != BlockState::kLive) own = {};
  if (*static_cast<const bool*>(overflowed)) give_up(*scopes);
}

bool can_be_decided(const OpenScope& scope) noexcept { return !scope.keeps && scope.reused == addresses_reused(); }

// Whether an address in a range is still what the scope's thread has allocated, and all stores were noted.
bool can_decide(const ThreadScopes& scopes, size_t level) noexcept {
  for (size_t i = level; i < scopes.depth; i++) {
    if (!can_be_decided(scopes.open[i])) return false;
  }
  return true;
}

// What no scope needs that is still open. One that nothing can be decided of needs none: a scope that was forgotten does not cost the others more and more.
void drop_older_notes() noexcept {
  struct Needs {
    uint64_t since;
    bool any;
  } needs = {noted_age(), false};
  for_each_thread_heap(
      [](const ThreadHeap& heap, void* argument) noexcept {
        auto& needs = *static_cast<Needs*>(argument);
        for (size_t level = 0; heap.scopes != nullptr && level < heap.scopes->depth; level++) {
          if (can_be_decided(heap.scopes->open[level])) needs = {std::min(needs.since, heap.scopes->open[level].since), true};
        }
      },
      &needs);
  drop_noted_until(needs.since);
  if (!needs.any) note_no_stores();
}

void run_stopped(void* argument) noexcept {
  auto& ending = *static_cast<Ending*>(argument);
  MaintenancePause pause;
  set_threads_stopped(true);
  begin_dead_locks();
  bool overflowed = !take_notes_over();
  for_each_thread_heap(look_at_thread, &overflowed);
  ScopeMarking marking(ending.scopes, ending.level);
  const RootSupport& support = *root_support();
  bool complete = !overflowed && can_decide(ending.scopes, ending.level) && marking.mark_all(support);
  if (complete) {
    if (core::knobs.verify) check_marks(marking);
    // No weak reference may give one of them to another thread from here on, while finalizers run.
    support.for_each_weak(
        [](uint64_t* slot, void* marking) {
          if (static_cast<ScopeMarking*>(marking)->is_unmarked(*slot)) *slot = 0;
        },
        &marking);
    ScopeDeletion* result = ending.result;
    marking.for_each_unmarked([&](Object* object, const Walked& walked) noexcept {
      if (walked.type->has_finalizer() && (*object->sync_word() & core::kSyncFinalizerRun) == 0) list_finalizable(*ending.array, result->finalizable++, object);
    });
    if (result->finalizable == 0) {
      marking.for_each_unmarked([&](Object* object, const Walked& walked) noexcept {
        if (!delete_unreached(object)) return;
        result->objects++;
        result->bytes += walked.size;
      });
    }
    ending.done = true;
  }
  bool ends = complete && ending.result->finalizable == 0;
  marking.leave_notes(ends);
  if (ends) close_scopes_from(ending.scopes, ending.level);
  drop_older_notes();
  if (overflowed) forget_lost_notes();
  set_threads_stopped(false);
}

}  // namespace

ScopeResult delete_scope(ThreadScopes& scopes, uint32_t level, const uint64_t* finalizable, ScopeDeletion* result) noexcept {
  const RootSupport* support = root_support();
  if (support == nullptr) return ScopeResult::kKept;
  // As reclaim() does.
  if (core::knobs.debug) refresh_pins();
  Ending ending = {scopes, level, finalizable, result, false};
  {
    PromotionPause pause;
    uint64_t before = os::nanoseconds();
    if (!support->stop(run_stopped, &ending)) return ScopeResult::kKept;
    uint64_t took = os::nanoseconds() - before;
    if (took > scope_counters.longest_stop.load(std::memory_order_relaxed)) scope_counters.longest_stop.store(took, std::memory_order_relaxed);
    trace(TraceKind::kScopeStop, took);
  }
  end_listed_huge();
  if (!ending.done) return ScopeResult::kKept;
  if (result->finalizable != 0) return ScopeResult::kFinalizable;
  if (core::knobs.debug) release_what_no_thread_pins();
  return ScopeResult::kDeleted;
}

namespace {

// The verifier's.
alignas(ScopeIndex) constinit unsigned char check_memory[sizeof(ScopeIndex)] = {};
ScopeIndex* check = nullptr;

}  // namespace

void begin_scope_check() noexcept {
  if (!is_noting_stores() || scope_notes.count.load(std::memory_order_relaxed) > ScopeNotes::kMost || !take_notes_over()) return;
  check = new (check_memory) ScopeIndex();
  sort_noted_by_page();
  if (!check->build()) end_scope_check();
}

bool is_missed_by_notes(const uint64_t* field, uint64_t target) noexcept {
  if (check == nullptr) return false;
  const Span* scope = check->find(target);
  if (scope == nullptr) return false;
  const Span* source = check->find(reinterpret_cast<uintptr_t>(field));
  if (source != nullptr && source->owner == scope->owner && source->level >= scope->level) return false;
  return can_be_decided(scope->scope) && !is_noted_since(reinterpret_cast<uintptr_t>(field) / core::kPageSize, scope->scope.since);
}

void end_scope_check() noexcept {
  if (check == nullptr) return;
  check->~ScopeIndex();
  check = nullptr;
  sort_noted_by_age();
}

}  // namespace freehold::heap
