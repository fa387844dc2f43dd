#include "heap/thread_heap.h"

#include <algorithm>

#include "Platform/lock.h"
#include "core/arena.h"
#include "core/knobs.h"
#include "core/module_state.h"
#include "os/kernel.h"

namespace freehold::heap {

thread_local constinit ThreadHeap thread_heap = {};

namespace {

os::Lock lock;                  // guards the list and the totals of threads that are gone
ThreadHeap* threads = nullptr;  // those that there are, whatever the heap is
size_t thread_count = 0;

struct State {
  ThreadTotals gone = {};  // of threads that are gone
  ThreadTotals recent = {};
  uint64_t recent_until = 0;  // nanoseconds
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

// Racy reads of another thread's bump pointer: off by what it allocates meanwhile.
// Between two of its stores a window may be half there: the end of one and the beginning of another would be an address, not a length.
uint64_t allocated_by(const AllocationContext& context) noexcept {
  constexpr int kTries = 8;
  int64_t bytes = 0;
  for (int i = 0; i < kTries; i++) {
    uint8_t* limit = __atomic_load_n(&context.alloc_limit, __ATOMIC_ACQUIRE);
    uint8_t* pointer = __atomic_load_n(&context.alloc_ptr, __ATOMIC_ACQUIRE);
    bytes = __atomic_load_n(&context.alloc_bytes, __ATOMIC_ACQUIRE) + __atomic_load_n(&context.alloc_bytes_uoh, __ATOMIC_ACQUIRE);
    if (limit == __atomic_load_n(&context.alloc_limit, __ATOMIC_RELAXED) && pointer <= limit && limit - pointer <= static_cast<ptrdiff_t>(core::kBlockSize))
      return static_cast<uint64_t>(bytes - (limit - pointer));
  }
  return static_cast<uint64_t>(bytes);
}

void add(ThreadTotals* totals, const ThreadHeap& heap) noexcept {
  if (heap.context != nullptr) totals->allocated_bytes += allocated_by(*heap.context);
  totals->deleted_bytes += heap.deleted_bytes;
  totals->deleted_objects += heap.deleted_objects;
  totals->double_deletes += heap.double_deletes;
  totals->dead_pages += heap.dead_pages;
}

ThreadTotals add_up() noexcept {
  ThreadTotals totals = state.gone;
  for (const ThreadHeap* heap = threads; heap != nullptr; heap = heap->next) add(&totals, *heap);
  return totals;
}

}  // namespace

void register_thread() noexcept {
  ThreadHeap* heap = &thread_heap;
  if (heap->registered) return;
  os::LockGuard guard(lock);
  heap->next = threads;
  heap->link = &threads;
  if (threads != nullptr) threads->link = &heap->next;
  threads = heap;
  thread_count++;
  heap->registered = true;
  heap->direct = core::knobs.debug || core::knobs.stress.deletion != 0 ? 0 : core::arena.size;
}

void unregister_thread() noexcept {
  ThreadHeap* heap = &thread_heap;
  if (!heap->registered) return;
  os::LockGuard guard(lock);
  add(&state.gone, *heap);
  thread_count--;
  *heap->link = heap->next;
  if (heap->next != nullptr) heap->next->link = heap->link;
  *heap = {};
}

void forget_other_threads() noexcept {
  ThreadHeap* own = &thread_heap;
  for (const ThreadHeap* heap = threads; heap != nullptr; heap = heap->next) {
    if (heap != own) add(&state.gone, *heap);
  }
  threads = own->registered ? own : nullptr;
  thread_count = own->registered ? 1 : 0;
  own->next = nullptr;
  own->link = own->registered ? &threads : nullptr;
}

void lock_thread_list() noexcept { lock.lock(); }
void unlock_thread_list() noexcept { lock.unlock(); }

void for_each_context(void (*fn)(const AllocationContext& context) noexcept) noexcept {
  os::LockGuard guard(lock);
  for (const ThreadHeap* heap = threads; heap != nullptr; heap = heap->next) {
    if (heap->context != nullptr) fn(*heap->context);
  }
}

void for_each_thread_heap(void (*fn)(const ThreadHeap& heap, void* argument) noexcept, void* argument) noexcept {
  os::LockGuard guard(lock);
  for (const ThreadHeap* heap = threads; heap != nullptr; heap = heap->next) fn(*heap, argument);
}

// Recent sums are never older than these: what a policy has noted is not ahead of them.
ThreadTotals thread_totals() noexcept {
  os::LockGuard guard(lock);
  return state.recent = add_up();
}

ThreadTotals recent_totals() noexcept {
  constexpr uint64_t kNanoseconds = 1'000'000, kTimesItsCost = 32;
  os::LockGuard guard(lock);
  if (thread_count <= kThreadsAddedUp) return state.recent = add_up();
  uint64_t now = os::nanoseconds();
  if (now < state.recent_until) return state.recent;
  state.recent = add_up();
  uint64_t end = os::nanoseconds();
  state.recent_until = end + std::max(kNanoseconds, kTimesItsCost * (end - now));
  return state.recent;
}

void add_allocated(AllocationContext* context, uint64_t bytes) noexcept { context->alloc_bytes_uoh += static_cast<int64_t>(bytes); }

}  // namespace freehold::heap
