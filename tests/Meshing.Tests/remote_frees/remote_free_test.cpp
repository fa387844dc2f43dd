#include <atomic>
#include <thread>

#include "mesh_fixture.h"
#include "statistics.h"

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

// It waits with others of its class in the thread that freed it, and goes to its span at the thread's end at the latest.
TEST_F(RemoteFreeTest, WhatWaitsIsFreedAtTheEndOfTheThread) {
  std::vector<void*> objects;
  for (int i = 0; i < 30; i++) objects.push_back(allocate(48));
  std::vector<void*> others;
  for (int i = 0; i < 300; i++) others.push_back(allocate(1000));
  in_thread([&] {
    deallocate(allocate(16));
    for (void* object : objects) deallocate(object);
    for (void* object : others) deallocate(object);
    EXPECT_GE(heap.global.cached_slots(class_of(48)), 30u);
    EXPECT_EQ(verify(), nullptr);
  });
  compact();
  EXPECT_EQ(read_statistics().live_bytes, 0u);
  EXPECT_EQ(heap.arena.used_pages(), 0u);
}

// A thread that only frees has no heap at first, and none after its end.
TEST_F(RemoteFreeTest, AThreadThatOnlyFreesTakesAHeapWhenItIsWorthwhile) {
  std::vector<void*> objects;
  for (int i = 0; i < 1000; i++) objects.push_back(allocate(64));
  uint32_t before = heap.global.heap_count();
  std::thread([&] {
    for (int i = 0; i < 50; i++) deallocate(objects[static_cast<size_t>(i)]);
    EXPECT_EQ(thread_heap, &nobodys_heap);
    for (int i = 50; i < 500; i++) deallocate(objects[static_cast<size_t>(i)]);
    EXPECT_NE(thread_heap, &nobodys_heap);
    leave_heap();
    for (int i = 500; i < 1000; i++) deallocate(objects[static_cast<size_t>(i)]);
    EXPECT_EQ(thread_heap, &nobodys_heap);
  }).join();
  EXPECT_EQ(heap.global.heap_count(), before + 1);
  compact();
  EXPECT_EQ(heap.arena.used_pages(), 0u);
}

// Producers and consumers of several classes, many times, with meshing beside them.
TEST_F(RemoteFreeTest, ObjectsThatGoOverToOtherThreads) {
  std::vector<void*> objects(20'000);
  for (int round = 0; round < 10; round++) {
    in_thread([&] {
      for (size_t i = 0; i < objects.size(); i++) {
        objects[i] = allocate(16 + i % 5 * 100);
        *static_cast<size_t*>(objects[i]) = i;
      }
    });
    std::thread others[2];
    for (size_t t = 0; t < 2; t++) {
      others[t] = std::thread([&, t] {
        for (size_t i = t; i < objects.size(); i += 2) {
          ASSERT_EQ(*static_cast<size_t*>(objects[i]), i);
          deallocate(objects[i]);
          if (i % 5000 == t) heap.mesher.run(0, true);
        }
        leave_heap();
      });
    }
    for (std::thread& other : others) other.join();
    ASSERT_EQ(verify(), nullptr);
  }
  compact();
  EXPECT_EQ(read_statistics().live_bytes, 0u);
}

// Spans that become full and partial again, by frees of several threads, while others take the lists' spans: no list becomes a circle, and no span is lost.
TEST_F(RemoteFreeTest, SpansThatAreFullAndPartialInTurn) {
  std::atomic<uint64_t*> letters[256] = {};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; t++) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      std::vector<uint64_t*> own;
      for (int round = 0; round < 300; round++) {
        while (own.size() < 200) own.push_back(static_cast<uint64_t*>(allocate(64)));
        // About half of them are freed by others.
        for (uint64_t* object : own) {
          if (random() % 2 == 0) object = letters[random() % 256].exchange(object);
          deallocate(object);
        }
        own.clear();
        if (round % 50 == 0) {
          EXPECT_EQ(verify(), nullptr);
        }
      }
      leave_heap();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (auto& letter : letters) deallocate(letter.load());
  EXPECT_STREQ(verify() == nullptr ? "" : verify(), "");
  compact();
  EXPECT_EQ(heap.arena.used_pages(), 0u);
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
