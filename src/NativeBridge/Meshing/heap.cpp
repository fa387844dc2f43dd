#include "heap.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include <algorithm>

#include "budget.h"
#include "knobs.h"

namespace freehold::mesh {

constinit Heap heap;
constinit ThreadLocalHeap nobodys_heap;
thread_local constinit ThreadLocalHeap* thread_heap __attribute__((tls_model("initial-exec"))) = &nobodys_heap;

namespace {

pthread_key_t leaving;  // its destructor gives a thread's heap back
std::atomic<bool> has_leaving{false};
std::atomic<uint64_t> slow_paths{0};  // counted under stress only
std::atomic<uint64_t> next_purge{0};  // milliseconds
// Of a thread without a heap: objects of others that it freed. Some threads free only what the C library leaves to them at their end, when a heap would never be given back.
thread_local constinit uint32_t frees_without_heap __attribute__((tls_model("initial-exec"))) = 0;
constexpr uint32_t kFreesUntilHeap = 100, kNeverAgain = 1u << 31;

// Work that is due, by whoever comes here. No lock is held.
void tend() noexcept {
  uint64_t now = os::milliseconds();
  if (knobs.stress != 0 && slow_paths.fetch_add(1, std::memory_order_relaxed) % knobs.stress == 0) {
    heap.mesher.run(now, true);
  }
  if (knobs.meshing && now >= heap.mesher.next_time()) heap.mesher.run(now, false);
  uint64_t due = next_purge.load(std::memory_order_relaxed);
  bool over_limit = heap.arena.is_over_limit(0);
  if ((now >= due && next_purge.compare_exchange_strong(due, now + std::max<uint64_t>(knobs.decay / 4, 10), std::memory_order_relaxed)) || over_limit) {
    auto time = static_cast<uint32_t>(over_limit ? now : now - knobs.decay);
    heap.arena.purge(time);
    heap.large.purge(time);
    for (uint32_t i = 1; i < kClasses; i++) {
      if (!is_meshable(i) && heap.global.partial_spans(i) != 0) heap.global.discard_free_slots(i, over_limit);
    }
  }
}

void flush_all(ThreadLocalHeap& own) noexcept {
  for (uint32_t i = 1; i < kClasses; i++) {
    if (!own.vectors[i].is_empty()) heap.global.flush(own, i, own.vectors[i].count());
    if (!own.remote[i].is_empty()) heap.global.flush_remote(own, i);
  }
}

// Tries what `allocate` does again and again, with more memory each time: this heap's own that waits for its next use, then what the other heaps of the process give back, then what meshing
// gives, then the reserve. No lock is held.
template <typename Allocate>
bool try_again(size_t bytes, Allocate allocate) noexcept {
  purge();
  if (allocate()) return true;
  budget::ask_others(bytes);
  if (allocate()) return true;
  compact();
  if (allocate()) return true;
  budget::Reserve reserve;
  return allocate();
}

}  // namespace

bool open_heap() noexcept {
  uint32_t state = heap.state.load(std::memory_order_acquire);
  if (state >= 2) return state == 2;
  if (state == 1 || !heap.state.compare_exchange_strong(state, 1, std::memory_order_acquire)) {
    while ((state = heap.state.load(std::memory_order_acquire)) == 1) os::pause(50);
    return state == 2;
  }
  if (before_open != nullptr) before_open();
  uint64_t seed = knobs.seed != 0 ? knobs.seed : os::random();
  size_t space = knobs.address_space != 0 ? knobs.address_space : std::max<uint64_t>(os::physical_memory() * 6, uint64_t{48} << 30);
  bool good = heap.arena.open(space, knobs.meshing) && heap.large.open(heap.arena) && heap.global.open(heap.arena, heap.large);
  if (good && knobs.meshing && heap.arena.is_meshable() && heap.mesher.open(heap.global, heap.barrier, seed)) {
    heap.barrier.open(knobs.barrier, heap.arena);
    // The program may have been started with a mask. Threads inherit it from one another.
    if (heap.barrier.kind() == BarrierKind::kMprotect) os::unblock_faults();
  }
  if (good) budget::join();
  heap.state.store(good ? 2 : 3, std::memory_order_release);
  return good;
}

void close_heap() noexcept {
  thread_heap = &nobodys_heap;
  if (has_leaving.load(std::memory_order_relaxed)) pthread_setspecific(leaving, nullptr);
  heap.barrier.close();
  heap.mesher.close();
  heap.global.close();
  heap.large.close();
  heap.arena.close();
  heap.~Heap();
  new (&heap) Heap;
  next_purge = 0;
}

ThreadLocalHeap* own_heap() noexcept {
  if (thread_heap != &nobodys_heap) return thread_heap;
  if (!open_heap()) return nullptr;
  ThreadLocalHeap* own = heap.global.take_heap(knobs.seed != 0 ? knobs.seed : os::random());
  if (own == nullptr) return nullptr;
  thread_heap = own;
  // Once, by the first thread: setting the value may allocate, with the heap that this thread has by now.
  static std::atomic<uint32_t> making{0};
  if (making.exchange(1, std::memory_order_acq_rel) == 0) {
    has_leaving.store(pthread_key_create(&leaving, [](void*) { leave_heap(); }) == 0, std::memory_order_release);
  }
  if (has_leaving.load(std::memory_order_acquire)) pthread_setspecific(leaving, own);
  return own;
}

void leave_heap() noexcept {
  ThreadLocalHeap* own = thread_heap;
  if (own == &nobodys_heap) return;
  flush_all(*own);
  frees_without_heap = kNeverAgain;
  // What destructors allocate after this one makes a heap again, and comes back here.
  thread_heap = &nobodys_heap;
  heap.global.give_heap_back(own);
}

void* allocate_large(size_t size, size_t alignment, bool* zero) noexcept {
  if (size > PTRDIFF_MAX || !open_heap()) return nullptr;
  void* object = heap.large.allocate(size, alignment, PageWord::kLarge, 0, 0, zero);
  // The limit, or the kernel.
  if (object == nullptr && size <= heap.arena.size()) {
    try_again(size, [&]() noexcept { return (object = heap.large.allocate(size, alignment, PageWord::kLarge, 0, 0, zero)) != nullptr; });
  }
  tend();
  return object;
}

void* allocate_slowly(size_t size, uint32_t size_class) noexcept {
  bool zero;
  if (size_class == 0) return allocate_large(size, os::kPageSize, &zero);
  ThreadLocalHeap* own = own_heap();
  if (own == nullptr) return nullptr;
  ShuffleVector& vector = own->vectors[size_class];
  if (vector.is_empty()) {
    tend();
    auto refill = [&]() noexcept { return heap.global.refill(*own, size_class); };
    if (!refill() && !try_again(size_t{kSizeClasses[size_class].pages} << os::kPageShift, refill)) return nullptr;
  }
  return vector.pop();
}

void deallocate_slowly(void* object, PageWord word) noexcept {
  if (word.kind() == PageWord::kLarge) {
    if (heap.arena.address(word.index()) != object) os::fail_fast("free of an address at which no object begins", object);
    heap.large.free(word.index());
    tend();
    return;
  }
  if (word.kind() == 0) os::fail_fast("free of an address at which no object lives", object);
  ThreadLocalHeap* own = thread_heap;
  if (word.owner() != own->id) {
    // Another thread's: to its span, from which that thread, or whoever needs slots first, takes it. With others of its class, as each span costs an atomic operation or two.
    if (own == &nobodys_heap && ++frees_without_heap == kFreesUntilHeap) own = own_heap();
    if (own == nullptr || own == &nobodys_heap) {
      heap.global.free(object, word);
      return;
    }
    ShuffleVector& remote = own->remote[word.kind()];
    if (!remote.is_empty() && remote.last() == object) os::fail_fast("double free", object);
    if (remote.is_full()) {
      heap.global.flush_remote(*own, word.kind());
      tend();
    }
    remote.push(object);
    return;
  }
  ShuffleVector& vector = own->vectors[word.kind()];
  // An empty vector's last entry is nothing.
  if (!vector.is_empty() && vector.last() == object) os::fail_fast("double free", object);
  if (vector.is_full()) {
    heap.global.flush(*own, word.kind(), vector.count() / 2);
    tend();
  }
  vector.push(object);
}

void refuse_foreign(const void* object) noexcept {
  os::fail_fast("free of memory that is not of this allocator: is there a second one in the process?", object);
}

void* allocate_zeroed(size_t count, size_t size) noexcept {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) return nullptr;
  if (bytes > kMaximalSmall) {
    bool zero = false;
    void* object = allocate_large(bytes, os::kPageSize, &zero);
    if (object != nullptr && !zero) memset(object, 0, bytes);
    return object;
  }
  void* object = allocate(bytes);
  if (object != nullptr) memset(object, 0, bytes);
  return object;
}

void* allocate_aligned(size_t size, size_t alignment) noexcept {
  if (alignment <= kAlignment) return allocate(size);
  if (uint32_t size_class = class_of_aligned(size, alignment)) return allocate(kSizeClasses[size_class].size);
  bool zero;
  return allocate_large(size, std::max(alignment, os::kPageSize), &zero);
}

size_t usable_size(const void* object) noexcept {
  if (!heap.arena.contains(object)) return 0;
  PageWord word = heap.arena.word(object);
  if (word.kind() == PageWord::kLarge) return heap.large.size_of(word.index());
  return kSizeClasses[word.kind()].size;
}

void* reallocate(void* object, size_t size) noexcept {
  if (object == nullptr) return allocate(size);
  size_t before = usable_size(object);
  if (before == 0) refuse_foreign(object);
  if (size <= before && (before <= 64 || size > before / 2)) return object;
  PageWord word = heap.arena.word(object);
  if (word.kind() == PageWord::kLarge && size > kMaximalSmall && size <= PTRDIFF_MAX && heap.large.resize(word.index(), size)) return object;
  // Room for the next one: who grows a large object step by step does it again.
  size_t wanted = before > kMaximalSmall && size > before ? std::max(size, size + std::min<size_t>(before / 8, size_t{64} << 20)) : size;
  void* moved = allocate(wanted);
  if (moved == nullptr && wanted != size) moved = allocate(size);
  if (moved == nullptr) return nullptr;
  constexpr size_t kLeastToRemap = size_t{1} << 22;
  size_t kept = std::min(before, size);
  size_t remapped = kept >= kLeastToRemap ? kept & -os::kPageSize : 0;
  if (remapped != 0 && os::move_frames(object, moved, remapped)) heap.large.set_moved(heap.arena.word(moved).index());
  else remapped = 0;
  memcpy(static_cast<uint8_t*>(moved) + remapped, static_cast<uint8_t*>(object) + remapped, kept - remapped);
  deallocate(object);
  return moved;
}

void purge() noexcept {
  if (heap.state.load(std::memory_order_acquire) != 2) return;
  auto time = static_cast<uint32_t>(os::milliseconds() + 1000);
  heap.arena.purge(time);
  heap.large.purge(time);
}

uint64_t compact() noexcept {
  if (heap.state.load(std::memory_order_acquire) != 2) return 0;
  if (thread_heap != &nobodys_heap) flush_all(*thread_heap);
  uint64_t before = heap.arena.used_pages() + heap.arena.dirty_pages();
  uint64_t now = os::milliseconds();
  // Each pass may leave pairs that the next one finds.
  for (int pass = 0; pass < 8 && heap.mesher.run(now, true) != 0; pass++) {}
  purge();
  for (uint32_t i = 1; i < kClasses; i++) {
    if (!is_meshable(i)) heap.global.discard_free_slots(i, true);
  }
  uint64_t after = heap.arena.used_pages() + heap.arena.dirty_pages();
  return before > after ? (before - after) << os::kPageShift : 0;
}

void announce_from_now_on() noexcept {
  if (heap.state.load(std::memory_order_acquire) != 2 || heap.barrier.needs_announcements()) return;
  heap.barrier.announce_always();
  // A pass that has begun before ends. Not for ever: this may be a handler that has interrupted one at its beginning.
  constexpr uint64_t kLongest = 1'000'000'000;
  for (uint64_t end = os::nanoseconds() + kLongest; os::nanoseconds() < end; os::pause(50)) {
    if (!heap.mesher.lock().try_lock()) continue;
    heap.mesher.lock().unlock();
    break;
  }
}

namespace {

// Between before_fork and after_fork_*, by the forking thread: a pipe, if the child has to copy the spans. The child writes when it has copied; if there is none, or it has died, the pipe ends.
int copied[2] = {-1, -1};
// Where there are no descriptors: a page that both have, set by the child.
std::atomic<uint32_t>* copied_page = nullptr;

// All locks are held.
void prepare_fork() noexcept {
  bool good = heap.arena.freeze([](PageWord word) noexcept {
    const MiniHeap& mini_heap = heap.global[word.index()];
    return heap.global[mini_heap.leader.load(std::memory_order_relaxed)].page;
  });
  // The file's descriptor is gone, or the kernel has no mappings left: then the child copies, and the parent waits for it.
  if (good || os::open_pipe(copied)) return;
  copied_page = static_cast<std::atomic<uint32_t>*>(os::share_page());
  if (copied_page == nullptr) os::fail_fast("fork: no memory to give the child spans of its own", nullptr);
}

void end_fork() noexcept {
  heap.global.unlock_everything();
  heap.mesher.lock().unlock();
}

}  // namespace

void before_fork() noexcept {
  if (heap.state.load(std::memory_order_acquire) != 2) return;
  heap.mesher.lock().lock();
  heap.global.lock_everything();
  prepare_fork();
}

bool try_before_fork() noexcept {
  if (heap.state.load(std::memory_order_acquire) != 2) return false;
  constexpr uint64_t kLongest = 100'000'000;  // nanoseconds
  uint64_t end = os::nanoseconds() + kLongest;
  while (!heap.mesher.lock().try_lock()) {
    if (os::nanoseconds() > end) return false;
    os::pause(50);
  }
  if (!heap.global.try_lock_everything(end)) {
    heap.mesher.lock().unlock();
    return false;
  }
  prepare_fork();
  return true;
}

void after_fork_in_parent() noexcept { after_fork_in_parent(true); }

void after_fork_in_parent(bool has_child) noexcept {
  if (heap.state.load(std::memory_order_acquire) != 2) return;
  if (copied[0] >= 0) {
    os::close(copied[1]);
    if (has_child) os::wait_for_pipe(copied[0]);
    os::close(copied[0]);
    copied[0] = copied[1] = -1;
  } else if (copied_page != nullptr) {
    // A fork that failed has no child. A child may also die before it has copied.
    for (int i = 0; has_child && i < 50'000 && copied_page->load(std::memory_order_acquire) == 0; i++) os::pause(100);
    os::unreserve(copied_page, os::kPageSize);
    copied_page = nullptr;
  }
  // Also those that did become copies on write before the rest failed.
  heap.arena.set_frozen();
  end_fork();
}

void after_fork_in_child() noexcept {
  budget::leave_parents();
  if (heap.state.load(std::memory_order_acquire) != 2) return;
  if (copied[0] >= 0 || copied_page != nullptr) heap.arena.copy_spans();
  if (copied[0] >= 0) {
    os::close(copied[0]);
    os::write_to_pipe(copied[1]);
    os::close(copied[1]);
    copied[0] = copied[1] = -1;
  }
  if (copied_page != nullptr) {
    copied_page->store(1, std::memory_order_release);
    os::unreserve(copied_page, os::kPageSize);
    copied_page = nullptr;
  }
  heap.arena.set_frozen();
  heap.arena.renew_file();
  heap.barrier.reopen();
  end_fork();
}

}  // namespace freehold::mesh
