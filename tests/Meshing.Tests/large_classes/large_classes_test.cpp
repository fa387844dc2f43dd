#include <thread>

#include "mesh_fixture.h"
#include "statistics.h"

namespace freehold::mesh::testing {
namespace {

// Classes whose spans do not mesh.
class LargeClassesTest : public MeshTest {
 protected:
  // Whether the middle of the object still has what was written there: memory that was given back reads as zero.
  static bool has_memory(const void* object, uint32_t size) { return static_cast<const volatile uint8_t*>(object)[size / 2] != 0; }

  static void look_at_free_slots(bool all) {
    for (uint32_t i = 1; i < kClasses; i++) {
      if (!is_meshable(i)) heap.global.discard_free_slots(i, all);
    }
  }
};

// Two of each span's first slots are free, the others live.
std::vector<void*> with_free_slots(uint32_t size_class, std::vector<void*>& live) {
  const SizeClass& c = kSizeClasses[size_class];
  std::vector<void*> all, free;
  for (uint32_t i = 0; i < 4 * c.slots; i++) {
    all.push_back(allocate(c.size));
    memset(all.back(), 1, c.size);
  }
  std::thread([&] {
    deallocate(allocate(16));
    for (void* object : all) {
      auto slot = heap.global.slot_of(heap.global[heap.arena.word(object).index()], object);
      (slot < 2 ? free : live).push_back(object);
    }
    for (void* object : free) deallocate(object);
    leave_heap();
  }).join();
  return free;
}

TEST_F(LargeClassesTest, AFreeSlotKeepsItsPagesUntilTheSecondLook) {
  for (uint32_t size_class = 1; size_class < kClasses; size_class++) {
    uint32_t size = kSizeClasses[size_class].size;
    if (is_meshable(size_class) || size < 3 * os::kPageSize) continue;
    std::vector<void*> live, free = with_free_slots(size_class, live);
    ASSERT_FALSE(free.empty());
    look_at_free_slots(false);
    for (void* object : free) EXPECT_TRUE(has_memory(object, size)) << size;
    look_at_free_slots(false);
    for (void* object : free) EXPECT_FALSE(has_memory(object, size)) << size;
    for (void* object : live) EXPECT_TRUE(has_memory(object, size)) << size;
    for (void* object : live) deallocate(object);
  }
}

TEST_F(LargeClassesTest, AtTheLimitFreeSlotsGiveTheirPagesAtOnce) {
  uint32_t size_class = class_of(20'000), size = kSizeClasses[size_class].size;
  std::vector<void*> live, free = with_free_slots(size_class, live);
  look_at_free_slots(true);
  for (void* object : free) EXPECT_FALSE(has_memory(object, size));
  for (void* object : live) EXPECT_TRUE(has_memory(object, size));
}

// A slot that was used between two looks is as new at the second one.
TEST_F(LargeClassesTest, AUseInBetweenCounts) {
  uint32_t size_class = class_of(20'000), size = kSizeClasses[size_class].size;
  std::vector<void*> live, free = with_free_slots(size_class, live);
  look_at_free_slots(false);
  std::vector<void*> again;
  for (size_t i = 0; i < free.size(); i++) {
    again.push_back(allocate(size));
    memset(again.back(), 2, size);
  }
  std::thread([&] {
    for (void* object : again) deallocate(object);
    leave_heap();
  }).join();
  look_at_free_slots(false);
  for (void* object : free) EXPECT_TRUE(has_memory(object, size));
}

// They wait in the thread that freed them, and go to their spans together.
TEST_F(LargeClassesTest, WhatAnotherThreadFreesWaitsForMore) {
  for (uint32_t size_class = 1; size_class < kClasses; size_class++) {
    if (is_meshable(size_class)) continue;
    uint32_t size = kSizeClasses[size_class].size, capacity = ThreadLocalHeap::remote_capacity(size_class);
    ASSERT_GE(capacity, 2u) << size;
    std::vector<void*> objects;
    for (uint32_t i = 0; i < 3 * capacity; i++) objects.push_back(allocate(size));
    std::thread([&] {
      deallocate(allocate(16));
      uint64_t others = heap.global.cached_slots(size_class);
      for (uint32_t i = 0; i < capacity; i++) {
        deallocate(objects[i]);
        EXPECT_EQ(heap.global.cached_slots(size_class), others + i + 1) << size;
      }
      deallocate(objects[capacity]);
      EXPECT_EQ(heap.global.cached_slots(size_class), others + 1) << size;
      EXPECT_EQ(verify(), nullptr);
      for (uint32_t i = capacity + 1; i < objects.size(); i++) deallocate(objects[i]);
      leave_heap();
    }).join();
  }
  compact();
  EXPECT_EQ(read_statistics().live_bytes, 0u);
  EXPECT_EQ(heap.arena.used_pages(), 0u);
}

TEST_F(LargeClassesTest, ASecondFreeByAnotherThreadEndsTheProcess) {
  void* object = allocate(20'000);
  void* other = allocate(20'000);
  EXPECT_DEATH(std::thread([&] {
                 deallocate(allocate(16));
                 deallocate(object);
                 deallocate(other);
                 deallocate(object);
                 leave_heap();
               }).join(),
               "double free");
}

}  // namespace
}  // namespace freehold::mesh::testing
