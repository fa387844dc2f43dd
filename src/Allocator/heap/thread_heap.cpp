#include "heap/thread_heap.h"

#include "core/arena.h"
#include "core/knobs.h"
#include "platform/lock.h"

namespace freehold::heap {

thread_local constinit ThreadHeap thread_heap = {};

namespace {

os::Lock lock;  // guards the list and the totals of threads that are gone
ThreadHeap* threads = nullptr;
ThreadTotals gone = {};

// Racy reads of another thread's bump pointer: off by what it allocates meanwhile.
uint64_t allocated_by(const AllocationContext& context) noexcept {
  return static_cast<uint64_t>(context.alloc_bytes + context.alloc_bytes_uoh - (context.alloc_limit - context.alloc_ptr));
}

void add(ThreadTotals* totals, const ThreadHeap& heap) noexcept {
  if (heap.context != nullptr) totals->allocated_bytes += allocated_by(*heap.context);
  totals->deleted_bytes += heap.deleted_bytes;
  totals->deleted_objects += heap.deleted_objects;
  totals->double_deletes += heap.double_deletes;
  totals->dead_pages += heap.dead_pages;
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
  heap->registered = true;
  heap->direct = core::knobs.debug || core::knobs.stress.deletion != 0 ? 0 : core::arena.size;
}

void unregister_thread() noexcept {
  ThreadHeap* heap = &thread_heap;
  if (!heap->registered) return;
  os::LockGuard guard(lock);
  add(&gone, *heap);
  *heap->link = heap->next;
  if (heap->next != nullptr) heap->next->link = heap->link;
  *heap = {};
}

ThreadTotals thread_totals() noexcept {
  os::LockGuard guard(lock);
  ThreadTotals totals = gone;
  for (const ThreadHeap* heap = threads; heap != nullptr; heap = heap->next) add(&totals, *heap);
  return totals;
}

void reset_thread_totals() noexcept {
  ThreadTotals totals = thread_totals();
  os::LockGuard guard(lock);
  gone.allocated_bytes -= totals.allocated_bytes;
  gone.deleted_bytes -= totals.deleted_bytes;
  gone.deleted_objects -= totals.deleted_objects;
  gone.double_deletes -= totals.double_deletes;
  gone.dead_pages -= totals.dead_pages;
}

void add_allocated(AllocationContext* context, uint64_t bytes) noexcept { context->alloc_bytes_uoh += static_cast<int64_t>(bytes); }

}  // namespace freehold::heap
