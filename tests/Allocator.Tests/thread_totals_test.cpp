// Sums over threads that allocate meanwhile (heap/thread_heap.h).
#include <utility>

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

}  // namespace
}  // namespace freehold::testing
