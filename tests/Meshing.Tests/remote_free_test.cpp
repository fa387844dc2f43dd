#include <thread>

#include "mesh_fixture.h"

namespace freehold::mesh::testing {
namespace {

class RemoteFreeTest : public MeshTest {};

void in_thread(auto work) {
  std::thread thread([&] {
    work();
    leave_heap();
  });
  thread.join();
}

TEST_F(RemoteFreeTest, WhatAnotherThreadFreesIsUsedAgain) {
  std::vector<void*> objects;
  for (int i = 0; i < 10'000; i++) objects.push_back(allocate(64));
  uint64_t used = heap.arena.used_pages();
  for (int round = 0; round < 20; round++) {
    in_thread([&] {
      for (void* object : objects) deallocate(object);
    });
    for (void*& object : objects) object = allocate(64);
  }
  EXPECT_LE(heap.arena.used_pages(), used + used / 10);
  for (void* object : objects) deallocate(object);
}

TEST_F(RemoteFreeTest, SpansGoWhenAnotherThreadFreesTheirLastObject) {
  std::vector<void*> objects;
  in_thread([&] {
    for (int i = 0; i < 20'000; i++) objects.push_back(allocate(200));
  });
  for (void* object : objects) deallocate(object);
  compact();
  EXPECT_EQ(heap.arena.used_pages(), 0u);
}

// Objects of one thread are not handed to another one by being freed there: they would share cache lines.
TEST_F(RemoteFreeTest, AFreedObjectGoesBackToItsSpan) {
  void* ours = allocate(16);
  in_thread([&] {
    void* own = allocate(16);
    deallocate(ours);
    void* next = allocate(16);
    EXPECT_NE(next, ours);
    deallocate(next);
    deallocate(own);
  });
}

TEST_F(RemoteFreeTest, ThreadsThatEndLeaveNothing) {
  for (int i = 0; i < 200; i++) {
    in_thread([] {
      std::vector<void*> objects;
      for (size_t size = 16; size < 40'000; size += 500) objects.push_back(allocate(size));
      for (void* object : objects) deallocate(object);
    });
  }
  EXPECT_LE(heap.global.heap_count(), 2u);
  compact();
  EXPECT_EQ(heap.arena.used_pages(), 0u);
}

}  // namespace
}  // namespace freehold::mesh::testing
