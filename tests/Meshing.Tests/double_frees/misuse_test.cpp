// What programs do wrong ends them with a sentence.
#include <thread>

#include "mesh_fixture.h"

namespace freehold::mesh::testing {
namespace {

class MisuseTest : public MeshTest {};
using MisuseDeathTest = MisuseTest;

TEST_F(MisuseDeathTest, ADoubleFree) {
  EXPECT_DEATH(
      {
        void* object = allocate(40);
        deallocate(object);
        deallocate(object);
      },
      "double free");
}

TEST_F(MisuseDeathTest, ADoubleFreeWithOthersInBetween) {
  EXPECT_DEATH(
      {
        void* object = allocate(40);
        void* other = allocate(40);
        deallocate(object);
        deallocate(other);
        deallocate(object);
        compact();
      },
      "double free");
}

TEST_F(MisuseDeathTest, ADoubleFreeByTwoThreads) {
  EXPECT_DEATH(
      {
        void* object = allocate(40);
        std::thread([&] { deallocate(object); }).join();
        std::thread([&] { deallocate(object); }).join();
      },
      "double free");
}

// The second thread's free waits with others of its class, while the first one's empties the span, which becomes one of another class.
TEST_F(MisuseDeathTest, ADoubleFreeWhoseSpanHasAnotherClassSince) {
  EXPECT_DEATH(
      {
        constexpr uint32_t kSlots = 64;  // of a span of 64 bytes each, a page
        std::vector<void*> all;
        for (uint32_t i = 0; i < 2 * kSlots; i++) all.push_back(allocate(64));
        void* object = all.front();
        std::thread([&] {
          deallocate(allocate(64));  // a heap, where the free waits
          deallocate(object);
          std::thread([&] {
            for (void* one : all) deallocate(one);
            leave_heap();
          }).join();
          for (int i = 0; i < 100'000 && heap.arena.word(object).kind() != class_of(128); i++) allocate(128);
          leave_heap();
        }).join();
      },
      "double free");
}

TEST_F(MisuseDeathTest, ADoubleFreeOfALargeObject) {
  EXPECT_DEATH(
      {
        void* object = allocate(100'000);
        deallocate(object);
        deallocate(object);
      },
      "no object lives");
}

TEST_F(MisuseDeathTest, AnAddressInsideAnObject) {
  EXPECT_DEATH(
      {
        auto* object = static_cast<char*>(allocate(400));
        std::thread([&] { deallocate(object + 16); }).join();
      },
      "no object begins");
  EXPECT_DEATH({ deallocate(static_cast<char*>(allocate(100'000)) + 4096); }, "no object lives");
}

TEST_F(MisuseDeathTest, MemoryOfAnotherAllocator) {
  EXPECT_DEATH({ deallocate(malloc(10)); }, "not of this allocator");
  int local = 0;
  EXPECT_DEATH({ deallocate(&local); }, "not of this allocator");
}

TEST_F(MisuseTest, NullIsNothing) {
  deallocate(nullptr);
  EXPECT_EQ(usable_size(nullptr), 0u);
}

}  // namespace
}  // namespace freehold::mesh::testing
