// The meshing malloc as a whole: what malloc, free and their family do, once the process has a heap. Any thread may call any of these.
#pragma once

#include <cstddef>
#include <cstdint>

#include "global_heap.h"
#include "large_objects.h"
#include "meshable_arena.h"
#include "split_mesher.h"
#include "thread_local_heap.h"
#include "write_barrier.h"

namespace freehold::mesh {

// The heap of the process. Without destructors: threads allocate until the very end.
struct Heap {
  MeshableArena arena;
  LargeObjects large;
  GlobalHeap global;
  WriteBarrier barrier;
  SplitMesher mesher;
  std::atomic<uint32_t> state{0};  // 0 not open, 1 being opened, 2 open, 3 closed to allocation: no memory at the start
};
extern Heap heap;
extern thread_local constinit ThreadLocalHeap* thread_heap __attribute__((tls_model("initial-exec")));
extern ThreadLocalHeap nobodys_heap;  // of threads that have none: all its vectors are empty and full

// Called before the heap is opened, if somebody defines it: the process's settings.
__attribute__((weak)) void before_open() noexcept;
// Opens the heap with the knobs as they are. False: no memory. Called by the first allocation.
bool open_heap() noexcept;
// For tests: no thread may use the heap, and this one's is gone.
void close_heap() noexcept;
// This thread's heap, made if it has none. Null: no memory.
ThreadLocalHeap* own_heap() noexcept;
// What the thread has in its vectors goes back to the spans. Called at its end.
void leave_heap() noexcept;

void* allocate_slowly(size_t size, uint32_t size_class) noexcept;
void* allocate_large(size_t size, size_t alignment, bool* zero) noexcept;
void deallocate_slowly(void* object, PageWord word) noexcept;
[[noreturn]] void refuse_foreign(const void* object) noexcept;

// Null: no memory. 16-byte aligned, as are all.
inline void* allocate(size_t size) noexcept {
  if (__builtin_expect(size > kMaximalSmall, 0)) return allocate_slowly(size, 0);
  uint32_t size_class = class_of(size);
  ShuffleVector& vector = thread_heap->vectors[size_class];
  if (__builtin_expect(vector.is_empty(), 0)) return allocate_slowly(size, size_class);
  return vector.pop();
}

inline void deallocate(void* object) noexcept {
  uintptr_t offset = reinterpret_cast<uintptr_t>(object) - heap.arena.start();
  if (__builtin_expect(offset >= heap.arena.size(), 0)) {
    if (object != nullptr) refuse_foreign(object);
    return;
  }
  PageWord word = heap.arena.word(offset >> os::kPageShift);
  ThreadLocalHeap* own = thread_heap;
  if (__builtin_expect(word.owner() == own->id, 1)) {
    ShuffleVector& vector = own->vectors[word.kind()];
    // The object itself is not looked at: it may have left the cache long ago. A double free is noticed here if nothing was freed in between, otherwise
    // when the slots go back to their span (GlobalHeap::flush).
    if (__builtin_expect(!vector.is_full() && vector.last() != object, 1)) {
      vector.push(object);
      return;
    }
  } else if (word.kind() < kClasses) {
    // Another thread's waits for more of its class. Threads without a heap have no room for it.
    ShuffleVector& remote = own->remote[word.kind()];
    if (!remote.is_full() && remote.last() != object) {
      remote.push(object);
      return;
    }
  }
  deallocate_slowly(object, word);
}

void* allocate_zeroed(size_t count, size_t size) noexcept;
// `alignment` is a power of two.
void* allocate_aligned(size_t size, size_t alignment) noexcept;
void* reallocate(void* object, size_t size) noexcept;
// Of a live object. 0: it is not of this heap.
size_t usable_size(const void* object) noexcept;

// Gives back what waits for its next use.
void purge() noexcept;
// Meshes and gives back all that can be. The bytes that were given back.
uint64_t compact() noexcept;
// System calls are announced with every barrier from now on: somebody opens a file for direct I/O.
void announce_from_now_on() noexcept;
// Around fork (pthread_atfork).
void before_fork() noexcept;
void after_fork_in_parent() noexcept;
void after_fork_in_child() noexcept;
// Without waiting for ever for locks, as this thread may have one. False: not done.
bool try_before_fork() noexcept;
// For who knows whether there is a child.
void after_fork_in_parent(bool has_child) noexcept;

}  // namespace freehold::mesh
