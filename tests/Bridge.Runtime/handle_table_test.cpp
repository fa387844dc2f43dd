// The words that a translation without a branch reads: one for the high half of each 64-bit value.
#include <gtest/gtest.h>

#include <cerrno>
#include <random>
#include <thread>
#include <vector>

#include "compiled.h"
#include "os.h"

namespace freehold::bridge::test {
namespace {

// As compiled code does it, with no test.
uint64_t translation_without_branch(uint64_t value) { return value + reinterpret_cast<const volatile uint64_t*>(kTableBase)[value >> 32]; }

TEST(HandleTable, EveryValueThatIsNoHandleTranslatesToItself) {
  initialize();
  // 4096 numbers fall on each page of words that a pointer or a small negative number can have; others are taken at random.
  for (uint64_t high = 0; high < uint64_t{1} << 15; high++) ASSERT_EQ(translation_without_branch(high << 32 | 7), high << 32 | 7);
  for (uint64_t high = kHandleBit >> 32 | kFirstReservedId; high < uint64_t{1} << 32; high++) {
    ASSERT_EQ(translation_without_branch(high << 32 | 0xffff'ffff), high << 32 | 0xffff'ffff);
  }
  std::mt19937_64 random(30);
  for (int i = 0; i < 20000; i++) {
    uint64_t value = random() & ~kHandleBit;
    ASSERT_EQ(translation_without_branch(value), value);
  }
  for (double number : {0.0, 1.0, 1.5, 1e300, 5e-324, 1e-300}) {
    uint64_t value;
    memcpy(&value, &number, sizeof value);
    EXPECT_EQ(translation_without_branch(value), value) << number;
  }
}

TEST(HandleTable, ALiveHandleTranslatesToItsAddressAndAFreedOneToItself) {
  Compiled compiled;
  void* made = __freehold_malloc(100);
  uint64_t value = reinterpret_cast<uint64_t>(made);
  for (int64_t distance : {int64_t{0}, int64_t{99}, int64_t{-1000}, int64_t{1} << 27}) {
    EXPECT_EQ(translation_without_branch(value + static_cast<uint64_t>(distance)), reinterpret_cast<uint64_t>(at(made)) + static_cast<uint64_t>(distance));
  }
  __freehold_free(made);
  EXPECT_EQ(translation_without_branch(value), value);
  EXPECT_TRUE(table.is_freed(value));
  EXPECT_FALSE(table.is_freed(UINT64_MAX)) << "(void*)-1 is no freed object";
  EXPECT_FALSE(table.is_freed(kHandleBit | uint64_t{0x7fff'7fff} << 32)) << "never given out";
}

// As a thread does that allocates one object, frees it and ends.
void take_and_give_back() {
  uint32_t ids[kMostIds];
  size_t count = table.take(ids, kMostIds);
  ASSERT_EQ(count, kMostIds);
  table.give_back(&ids[count - 1], 1);
  table.give_back_unused(ids, count - 1);
}

// An id that had an object comes again when so many others that had one were freed: not when threads end that have taken ids and never used them.
TEST(HandleTable, UnusedIdsDoNotEndTheQuarantine) {
  Compiled compiled;
  constexpr size_t kOwn = 64;
  uint32_t own[kOwn];
  ASSERT_EQ(table.take(own, kOwn), kOwn);
  table.give_back(own, kOwn);
  size_t freed = 0;
  std::mt19937_64 random(31);
  auto see_if_own_come = [&] {
    std::vector<uint32_t> all(1 + random() % 2000);
    size_t count = table.take(all.data(), all.size());
    for (size_t i = 0; i < count; i++) {
      for (uint32_t one : own) ASSERT_NE(all[i], one) << "after " << freed << " others";
    }
    table.give_back_unused(all.data(), count);
  };
  // What the queue has in front of them besides is only more.
  while (freed + 1 < HandleTable::kQuarantine - kOwn) {
    take_and_give_back();
    freed++;
    if (random() % 64 == 0) {
      ASSERT_NO_FATAL_FAILURE(see_if_own_come());
    }
  }
  ASSERT_NO_FATAL_FAILURE(see_if_own_come());
  EXPECT_EQ(heap.verify(), nullptr);
}

// Sizes of freed objects stay known while threads come and go.
TEST(HandleTable, ShortThreadsDoNotEndTheQuarantine) {
  void* gone;
  {
    Compiled compiled;
    gone = __freehold_malloc(43);
    __freehold_free(gone);
    for (uint32_t i = 0; i < kMostIds; i++) __freehold_free(__freehold_malloc(16));
  }
  for (int i = 0; i < 300; i++) {
    std::thread([] {
      Compiled compiled;
      __freehold_free(__freehold_malloc(40));
    }).join();
  }
  Compiled compiled;
  std::vector<void*> kept(1000);
  for (void*& one : kept) one = __freehold_malloc(40);
  EXPECT_TRUE(table.is_freed(reinterpret_cast<uint64_t>(gone)));
  EXPECT_EQ(table.size_of_queued(id(gone)), 43u);
  for (void* one : kept) __freehold_free(one);
}

TEST(HandleTable, WordsOfAddressesAreNeverWritten) {
  initialize();
  EXPECT_DEATH(reinterpret_cast<volatile uint64_t*>(kTableBase)[0] = 1, "");
}

TEST(Os, ZeroesAreNotMappedOverAnotherMapping) {
  void* made = os::map(8192);
  ASSERT_NE(made, nullptr);
  errno = 0;
  EXPECT_FALSE(os::map_zeroes(4096, reinterpret_cast<uintptr_t>(made)));
  EXPECT_EQ(errno, EEXIST);
  os::fail_map(1);
  errno = 0;
  EXPECT_FALSE(os::map_zeroes(4096, kTableBase));
  EXPECT_EQ(errno, ENOMEM);
  os::unmap(made, 8192);
}

}  // namespace
}  // namespace freehold::bridge::test
