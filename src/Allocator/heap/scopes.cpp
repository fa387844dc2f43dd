#include "heap/scopes.h"

#include <pthread.h>

#include <new>

#include "core/arena.h"
#include "core/object.h"
#include "heap/addresses.h"
#include "heap/noted_pages.h"
#include "heap/scope_ranges.h"
#include "heap/thread_heap.h"
#include "os/kernel.h"

namespace freehold::heap {

using core::arena;

namespace {

uintptr_t end_of_stack() noexcept {
  pthread_attr_t attributes;
  void* start = nullptr;
  size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 0;
  bool known = pthread_attr_getstack(&attributes, &start, &size) == 0;
  pthread_attr_destroy(&attributes);
  return known ? reinterpret_cast<uintptr_t>(start) + size : 0;
}

constexpr size_t kOwnSize = core::align_up(sizeof(ThreadScopes), os::kPageSize);

// The calling thread's, made if need be.
ThreadScopes* own_scopes() noexcept {
  register_thread();
  if (thread_heap.scopes != nullptr) return thread_heap.scopes;
  if (!reserve_noted_pages() || !reserve_scope_notes()) return nullptr;
  void* memory = os::reserve(kOwnSize, os::kPageSize, 0);
  if (memory == nullptr) return nullptr;
  auto* scopes = os::commit(memory, kOwnSize) ? new (memory) ThreadScopes() : nullptr;
  if (scopes == nullptr || !scopes->memory.reserve()) {
    os::unreserve(memory, kOwnSize);
    return nullptr;
  }
  scopes->own = &freehold_scope_range;
  if (own_stack_end == 0) own_stack_end = end_of_stack();
  lock_thread_list();
  thread_heap.scopes = scopes;
  unlock_thread_list();
  return scopes;
}

}  // namespace

int64_t begin_scope() noexcept {
  ThreadScopes* scopes = own_scopes();
  if (scopes == nullptr || scopes->depth == ThreadScopes::kDeepest) return 0;
  const AllocationContext* context = thread_heap.context;
  bool has_chunk = context != nullptr && context->chunk_end != nullptr;
  auto start = has_chunk ? reinterpret_cast<uintptr_t>(context->alloc_ptr) - core::kHeaderSize : 0;
  auto end = has_chunk ? reinterpret_cast<uintptr_t>(context->chunk_end) : 0;
  if (scopes->depth == 0) {
    scopes->count = scopes->looked_at = 0;
    open_first_scope();
  }
  // What follows in the chunk is not the enclosing scope's any more.
  for (size_t i = scopes->count; has_chunk && i > 0; i--) {
    ScopeRange& range = scopes->ranges()[i - 1];
    if (range.end != end) continue;
    range.end = start;
    break;
  }
  scopes->open[scopes->depth++] = {++scopes->last_number, addresses_reused(), noted_age(), false};
  freehold_scope_range = {};
  // Stores are noted from now on, wherever its objects will be: what is stored is younger than this.
  if (has_chunk) note_chunk_of_scope(reinterpret_cast<uint8_t*>(start), reinterpret_cast<const uint8_t*>(end));
  return scopes->last_number;
}

bool has_scope() noexcept { return thread_heap.scopes != nullptr && thread_heap.scopes->depth != 0; }

void note_chunk_of_scope(uint8_t* start, const uint8_t* end) noexcept {
  ThreadScopes& scopes = *thread_heap.scopes;
  if (scopes.depth == 0 || scopes.open[scopes.depth - 1].keeps) return;
  auto address = reinterpret_cast<uintptr_t>(start);
  note_stores_to_scopes(address);
  freehold_scope_range = {};
  if (scopes.add(address, reinterpret_cast<uintptr_t>(end))) freehold_scope_range = {address, static_cast<uintptr_t>(end - start)};
}

void note_object_of_scope(uint8_t* start, size_t size) noexcept {
  ThreadScopes& scopes = *thread_heap.scopes;
  if (scopes.depth == 0 || scopes.open[scopes.depth - 1].keeps) return;
  auto address = reinterpret_cast<uintptr_t>(start);
  note_stores_to_scopes(address);
  // Up to its last page, which it shares with none; but objects of the pinned chunk have neighbours.
  bool has_pages = arena.blocks[arena.block_index(address)].kind != core::BlockKind::kPinned;
  scopes.add(address, address + (has_pages ? core::align_up(size, core::kPageSize) : size));
}

namespace {

size_t level_of(const ThreadScopes* scopes, int64_t number) noexcept {
  if (scopes == nullptr || number == 0) return ThreadScopes::kDeepest;
  for (size_t level = 0; level < scopes->depth; level++) {
    if (scopes->open[level].number == number) return level;
  }
  return ThreadScopes::kDeepest;
}

}  // namespace

void leave_scope(int64_t scope) noexcept {
  ThreadScopes* scopes = thread_heap.scopes;
  size_t level = level_of(scopes, scope);
  if (level != ThreadScopes::kDeepest) close_scopes_from(*scopes, static_cast<uint32_t>(level));
}

ScopeResult end_scope(int64_t scope, const uint64_t* finalizable, ScopeDeletion* result) noexcept {
  *result = {};
  ThreadScopes* scopes = thread_heap.scopes;
  size_t level = level_of(scopes, scope);
  if (level == ThreadScopes::kDeepest) return ScopeResult::kGone;
  ScopeResult answer = delete_scope(*scopes, static_cast<uint32_t>(level), finalizable, result);
  if (answer == ScopeResult::kFinalizable) return answer;
  (answer == ScopeResult::kKept ? scope_counters.kept : scope_counters.ended).fetch_add(1, std::memory_order_relaxed);
  scope_counters.objects.fetch_add(result->objects, std::memory_order_relaxed);
  scope_counters.bytes.fetch_add(result->bytes, std::memory_order_relaxed);
  return answer;
}

void close_scopes() noexcept {
  ThreadScopes* scopes = thread_heap.scopes;
  if (scopes == nullptr) return;
  // A stop may come in between: whoever reads them then has the lock of the list.
  lock_thread_list();
  thread_heap.scopes = nullptr;
  unlock_thread_list();
  if (scopes->depth != 0) close_scopes_from(*scopes, 0);
  scopes->memory.release();
  os::unreserve(scopes, kOwnSize);
}

void forget_scopes_of_other_threads() noexcept {
  forget_other_scopes(thread_heap.scopes != nullptr && thread_heap.scopes->depth != 0);
  // A thread that is not here may have noted a page by half: nothing can be decided of what is open.
  if (scope_notes.table != nullptr) scope_notes.count.store(ScopeNotes::kMost + 1, std::memory_order_relaxed);
}

}  // namespace freehold::heap
