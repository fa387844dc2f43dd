// Deletion of arrays that a collection has outgrown: what a stack leads to stays, what none does goes.
#include "heap/outgrown_arrays.h"

#include <random>
#include <vector>

#include "heap/classification.h"
#include "heap/deletion.h"
#include "heap/forwarding.h"
#include "heap/phases.h"
#include "heap/promotion.h"
#include "heap/reachability.h"
#include "heap_fixture.h"
#include "os/failure_injection.h"

namespace freehold::testing {
namespace {

using core::Object;
using heap::OutgrownArrays;

class OutgrownArraysTest : public HeapTest {
 protected:
  struct Root {
    uint64_t address;
    bool interior;
  };
  static inline std::vector<Root> roots;
  static inline bool can_stop = true;

  static heap::RootSupport support() {
    heap::RootSupport support = {};
    support.stop = [](void (*stopped)(void*), void* argument) {
      if (can_stop) stopped(argument);
      return can_stop;
    };
    support.for_each_stack_root = [](void (*fn)(uintptr_t, bool, void*), void* argument) {
      for (const Root& root : roots) fn(root.address, root.interior, argument);
    };
    return support;
  }

  void SetUp() override {
    HeapTest::SetUp();
    roots.clear();
    can_stop = true;
    static const heap::RootSupport kSupport = support();
    heap::set_root_support(&kSupport);
    constexpr uint32_t kRoom = 64;
    list_ = reinterpret_cast<uint64_t>(allocate(&references_type.table, kRoom));
  }

  Object* bytes(uint32_t length = 1000) { return allocate(&bytes_type.table, length); }
  uint64_t* element(size_t i) { return reinterpret_cast<uint64_t*>(heap::current_address(list_)) + 2 + i; }
  void note(size_t i, Object* array) { *element(i) = reinterpret_cast<uint64_t>(array); }
  static void root(Object* object, size_t offset = 0, bool interior = false) { roots.push_back({reinterpret_cast<uint64_t>(object) + offset, interior}); }

  uint64_t list_ = 0;
  OutgrownArrays result_ = {};
};

TEST_F(OutgrownArraysTest, WhatNoStackLeadsToGoes) {
  Object *gone = bytes(), *kept = bytes(), *inside = bytes(), *at_the_end = bytes(), *beside = bytes();
  note(0, gone);
  note(1, kept);
  note(2, inside);
  note(3, at_the_end);
  note(4, beside);
  root(kept);
  root(inside, 500, true);
  root(at_the_end, 16 + 1000, true);
  ASSERT_TRUE(heap::delete_outgrown(&list_, 5, true, &result_));
  EXPECT_TRUE(heap::is_deleted(gone));
  EXPECT_TRUE(heap::is_deleted(beside));
  for (Object* object : {kept, inside, at_the_end}) EXPECT_FALSE(heap::is_deleted(object));
  EXPECT_EQ(*element(0), 0u);
  EXPECT_EQ(*element(4), 0u);
  for (size_t i = 1; i < 4; i++) EXPECT_NE(*element(i), 0u);
  EXPECT_GE(result_.bytes, 3 * 1000u);
  EXPECT_GE(result_.next_bytes, 2 * result_.bytes);
  // The stacks have gone on.
  roots.clear();
  ASSERT_TRUE(heap::delete_outgrown(&list_, 5, true, &result_));
  for (Object* object : {kept, inside, at_the_end}) EXPECT_TRUE(heap::is_deleted(object));
  EXPECT_EQ(result_.bytes, 0u);
}

TEST_F(OutgrownArraysTest, TwiceNotedOrDeletedBeforeIsHarmless) {
  Object *twice = bytes(), *deleted = bytes();
  note(0, twice);
  note(1, deleted);
  note(2, twice);
  heap::delete_object(deleted);
  uint64_t before = heap::outgrown_counters.arrays.load();
  ASSERT_TRUE(heap::delete_outgrown(&list_, 4, true, &result_));
  EXPECT_EQ(heap::outgrown_counters.arrays.load(), before + 1);
  for (size_t i = 0; i < 4; i++) EXPECT_EQ(*element(i), 0u);
}

// A thread that has noted it has not written its type yet.
TEST_F(OutgrownArraysTest, WhatIsNoObjectYetIsNotNoted) {
  Object* gone = bytes();
  note(0, reinterpret_cast<Object*>(context_.alloc_ptr));
  note(1, gone);
  ASSERT_TRUE(heap::delete_outgrown(&list_, 2, true, &result_));
  EXPECT_EQ(*element(0), 0u);
  EXPECT_TRUE(heap::is_deleted(gone));
  EXPECT_NE(bytes(), nullptr);
  expect_valid("after a note of nothing");
}

TEST_F(OutgrownArraysTest, TwiceNotedAndHeldStaysOnce) {
  Object* twice = bytes();
  note(0, twice);
  note(1, twice);
  root(twice);
  ASSERT_TRUE(heap::delete_outgrown(&list_, 2, true, &result_));
  EXPECT_FALSE(heap::is_deleted(twice));
  EXPECT_EQ((*element(0) != 0) + (*element(1) != 0), 1);
}

TEST_F(OutgrownArraysTest, NothingHappensWhereItCannot) {
  Object* object = bytes();
  note(0, object);
  can_stop = false;
  EXPECT_FALSE(heap::delete_outgrown(&list_, 1, true, &result_));
  can_stop = true;
  {
    heap::PromotionPause round;
    EXPECT_FALSE(heap::delete_outgrown(&list_, 1, false, &result_));
  }
  EXPECT_FALSE(heap::delete_outgrown(&list_, 0, true, &result_));
  ASSERT_TRUE(os::inject_failures("mmap:1+"));
  EXPECT_FALSE(heap::delete_outgrown(&list_, 1, true, &result_));
  ASSERT_TRUE(os::inject_failures("mmap:18446744073709551615"));
  EXPECT_FALSE(heap::is_deleted(object));
  EXPECT_NE(*element(0), 0u);
  EXPECT_TRUE(heap::delete_outgrown(&list_, 1, true, &result_));
  EXPECT_TRUE(heap::is_deleted(object));
}

// Stacks with old names, and numbers that are none; arrays that have moved.
TEST_F(OutgrownArraysTest, AgreesWithAModel) {
  for (uint32_t seed = 1; seed <= 200; seed++) {
    std::mt19937 random(seed);
    roots.clear();
    std::vector<Object*> arrays;
    std::vector<bool> held;
    for (size_t i = 0; i < 60; i++) {
      arrays.push_back(bytes(random() % 3000));
      held.push_back(random() % 3 == 0);
      note(i, arrays[i]);
    }
    if (random() % 2 == 0) heap::promote(heap::PromotionScope::kAll);
    for (size_t i = 0; i < arrays.size(); i++) {
      uint64_t length = arrays[i]->length;
      auto address = random() % 2 == 0 ? arrays[i] : reinterpret_cast<Object*>(heap::current_address(reinterpret_cast<uintptr_t>(arrays[i])));
      if (held[i] && random() % 2 == 0) root(address);
      else if (held[i]) root(address, 16 + random() % (length + 1), true);
    }
    for (size_t i = 0; i < 20; i++) roots.push_back({random() % 2 == 0 ? random() : core::arena.start + random() * 8ull, true});
    ASSERT_TRUE(heap::delete_outgrown(&list_, 60, true, &result_)) << seed;
    for (size_t i = 0; i < arrays.size(); i++) {
      if (held[i]) {
        EXPECT_FALSE(heap::is_deleted(arrays[i])) << seed << ": " << i;
      }
    }
    uint64_t kept = 0;
    for (size_t i = 0; i < arrays.size(); i++) kept += *element(i) != 0;
    for (size_t i = 0; i < arrays.size(); i++) EXPECT_EQ(*element(i) == 0, heap::is_deleted(arrays[i])) << seed << ": " << i;
    EXPECT_GE(kept, static_cast<uint64_t>(std::count(held.begin(), held.end(), true)));
    expect_valid("a search");
  }
}

// A 64th of the time. What is put off is tried again when a quarter more is noted, so that noting stays cheap.
TEST_F(OutgrownArraysTest, DearStopsArePutOff) {
  EXPECT_TRUE(heap::is_stop_cheap(0, 0));
  EXPECT_TRUE(heap::is_stop_cheap(1'000, 64'000));
  EXPECT_FALSE(heap::is_stop_cheap(1'000, 63'999));
  // But not for ever: 64 MB, or a quarter of what else lives.
  EXPECT_TRUE(heap::can_wait((64 << 20) - 1, 0));
  EXPECT_FALSE(heap::can_wait(64 << 20, 64 << 20));
  EXPECT_TRUE(heap::can_wait(uint64_t{199} << 20, uint64_t{1000} << 20));
  EXPECT_FALSE(heap::can_wait(uint64_t{201} << 20, uint64_t{1000} << 20));
  Object* object = bytes();
  note(0, object);
  heap::PromotionPause round;
  result_.bytes = 100 << 20;
  EXPECT_FALSE(heap::delete_outgrown(&list_, 1, false, &result_));
  EXPECT_EQ(result_.bytes, 100u << 20);
  EXPECT_GE(result_.next_bytes, 125u << 20);
}

}  // namespace
}  // namespace freehold::testing
