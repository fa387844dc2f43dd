// The memory that open scopes have allocated from: a list for each thread, and all of them in the order of their addresses, for a stop.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heap/scope_notes.h"
#include "os/growing_memory.h"

namespace freehold::heap {

struct ScopeRange {
  uintptr_t start, end;
  uint32_t level;  // of the scope, from 0
};

struct OpenScope {
  int64_t number;
  uint64_t reused;  // addresses_reused() when it began: later an address in a range may be another object's
  uint64_t since;   // noted_age() when it began: older notes lead to none of its objects
  bool keeps;       // nothing can be decided any more
};

// A thread's. Its words are the thread's own, which writes them in cooperative mode; others read them, and change `keeps`, while it is stopped, under the lock of the list of threads.
struct ThreadScopes {
  static constexpr size_t kDeepest = 64, kRanges = size_t{1} << 20, kStep = size_t{1} << 16;

  os::GrowingMemory memory{kRanges * sizeof(ScopeRange), kStep};
  size_t count = 0, looked_at = 0;  // looked_at: how many there were when all were looked at last
  FreeholdScopeRange* own;          // what the thread's barriers read
  int64_t last_number = 0;
  size_t depth = 0;
  OpenScope open[kDeepest];

  ScopeRange* ranges() const noexcept { return reinterpret_cast<ScopeRange*>(memory.start()); }
  bool add(uintptr_t start, uintptr_t end) noexcept;
  // What levels from this one on have is the one's below; if there is none, nobody's.
  void merge_from(uint32_t level) noexcept;
};

// A thread that has no scope begins one. Any thread.
void open_first_scope() noexcept;
// An object of a scope may lie there: from now on barriers note where references to it are stored. Any thread with an open scope, before it has such a reference.
void note_stores_to_scopes(uintptr_t start) noexcept;
// With the threads stopped: nothing can be decided of the thread's scopes that are open. What they have allocated stays.
void give_up(ThreadScopes& scopes) noexcept;
// With the threads stopped: there is none that something can be decided of.
void note_no_stores() noexcept;
// In the child of a fork.
void forget_other_scopes(bool has_one) noexcept;
// With the threads stopped, before addresses are used again: the barriers of all threads note each store until they have a new chunk.
void forget_own_ranges() noexcept;
// Those from this level on end; the calling thread's. In cooperative mode, or with the threads stopped.
void close_scopes_from(ThreadScopes& scopes, uint32_t level) noexcept;

// Which scope an address belongs to, if any.
class ScopeIndex {
 public:
  struct Span {
    uintptr_t start, end;
    const ThreadScopes* owner;
    size_t bits;  // of the ending scope: where its marks begin
    uint32_t level;
    OpenScope scope;  // a copy: the verifier does not stop a thread that ends
  };

  ScopeIndex() noexcept : memory_(kSpans * sizeof(Span), ThreadScopes::kStep) {}
  ~ScopeIndex() { memory_.release(); }
  ScopeIndex(const ScopeIndex&) = delete;
  ScopeIndex& operator=(const ScopeIndex&) = delete;

  // With the threads stopped. False: no memory.
  bool build() noexcept;
  const Span* find(uintptr_t address) const noexcept {
    if (address - lowest_ >= extent_) return nullptr;
    return search(address);
  }
  Span* begin() const noexcept { return reinterpret_cast<Span*>(memory_.start()); }
  Span* end() const noexcept { return begin() + count_; }

 private:
  static constexpr size_t kSpans = size_t{1} << 22;

  const Span* search(uintptr_t address) const noexcept;
  bool add_all(const ThreadScopes& scopes) noexcept;

  os::GrowingMemory memory_;
  size_t count_ = 0;
  uintptr_t lowest_ = 0, extent_ = 0;
  bool complete_ = true;
};

}  // namespace freehold::heap
