// The end of a scope: what of its ranges nothing outside leads to is deleted.
#pragma once

#include <atomic>
#include <cstdint>

#include "heap/scope_ranges.h"

namespace freehold::heap {

struct ScopeCounters {
  std::atomic<uint64_t> ended, kept;     // kept: nothing could be decided, so that all stays
  std::atomic<uint64_t> objects, bytes;  // deleted
  std::atomic<uint64_t> longest_stop;    // nanoseconds
};
extern ScopeCounters scope_counters;

// As System.Heap/ScopeEnding.cs has them.
struct ScopeDeletion {
  uint64_t objects, bytes;  // that were deleted
  uint64_t finalizable;     // found before their finalizers had run
};
enum class ScopeResult : int32_t { kDeleted = 0, kKept = 1, kFinalizable = 2, kGone = 3 };

// As end_scope(), of the calling thread's scopes from `level` on.
ScopeResult delete_scope(ThreadScopes& scopes, uint32_t level, const uint64_t* finalizable, ScopeDeletion* result) noexcept;

// For the verifier, with the threads stopped. `missed`: a field outside the scope that `target` belongs to, on no page that is noted. Between begin and end of the check, one at a time.
void begin_scope_check() noexcept;
bool is_missed_by_notes(const uint64_t* field, uint64_t target) noexcept;
void end_scope_check() noexcept;

}  // namespace freehold::heap
