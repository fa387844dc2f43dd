// Sums over threads that allocate meanwhile (heap/thread_heap.h).
#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include "heap_fixture.h"

namespace freehold::testing {
namespace {

// A thread's window is replaced in several stores, and another thread may read in between: a sum must not have the end of one and the beginning of another, which would be an address.
TEST_F(HeapTest, AHalfReplacedWindowIsNoNumberOfBytes) {
  auto* place = reinterpret_cast<uint8_t*>(allocate(&small_type.table));
  heap::AllocationContext *own = heap::thread_heap.context, none = {};
  heap::thread_heap.context = &none;
  uint64_t others = heap::thread_totals().allocated_bytes;
  for (auto [pointer, limit] : {std::pair<uint8_t*, uint8_t*>{nullptr, place}, {place, nullptr}, {place, place - 4096}, {nullptr, nullptr}}) {
    heap::AllocationContext between = {};
    between.alloc_ptr = pointer;
    between.alloc_limit = limit;
    between.alloc_bytes = 4096;
    heap::thread_heap.context = &between;
    uint64_t found = heap::thread_totals().allocated_bytes;
    heap::thread_heap.context = own;
    EXPECT_EQ(found, others + 4096) << static_cast<void*>(pointer) << " to " << static_cast<void*>(limit);
  }
}

// Policies ask for each block that is taken: with thousands of threads that was a walk over all of them, under one lock.
TEST_F(HeapTest, OfManyThreadsSumsMayBeAMillisecondOldButNotOlderThanWhatWasNoted) {
  auto allocated = []() noexcept { return heap::recent_totals().allocated_bytes; };
  uint64_t before = allocated();
  allocate(&small_type.table);
  EXPECT_GT(allocated(), before) << "of few threads they are exact";

  std::atomic<size_t> ready{0};
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  for (size_t i = 0; i < heap::kThreadsAddedUp; i++)
    threads.emplace_back([&] {
      heap::register_thread();
      ready++;
      over.wait(false);
      heap::unregister_thread();
    });
  while (ready != heap::kThreadsAddedUp) std::this_thread::yield();
  // Each allocation is seen by an exact sum, and by each recent one behind it, however old that may be.
  for (int i = 0; i < 1000; i++) {
    allocate(&small_type.table);
    uint64_t exact = heap::thread_totals().allocated_bytes;
    EXPECT_GE(allocated(), exact) << i;
  }
  uint64_t last = heap::thread_totals().allocated_bytes;
  allocate(&small_type.table);
  while (allocated() == last) std::this_thread::yield();
  over = true;
  over.notify_all();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace freehold::testing
