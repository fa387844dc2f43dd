// The words that a translation without a branch reads: one for the high half of each 64-bit value.
#include <gtest/gtest.h>

#include <cerrno>
#include <random>

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
