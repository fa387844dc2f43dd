// Values that come twice in a look, by themselves.
#include "heap/field_values.h"

#include <gtest/gtest.h>

#include <vector>

#include "heap/adoptable_values.h"

namespace freehold::testing {
namespace {

using heap::AdoptableValues;
using heap::FieldValues;

class FieldValuesTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(values.reserve()); }
  void TearDown() override { values.release(); }

  // So many distinct values, and one that comes `times` times among them. How often it was seen to have come before.
  uint64_t look(uint64_t distinct, uint64_t times) {
    constexpr uint64_t kShared = 8;
    uint64_t seen = 0;
    values.begin(looks++);
    for (uint64_t i = 0; i < distinct; i++) {
      EXPECT_FALSE(values.was_there(1, 16 + 8 * i)) << i;
      if (times != 0 && i % (distinct / times) == 0) seen += values.was_there(1, kShared) ? 1 : 0;
    }
    return seen;
  }

  FieldValues values;
  uint64_t looks = 0;
};

TEST_F(FieldValuesTest, TwiceInOneFieldIsSeen) {
  values.begin(0);
  EXPECT_FALSE(values.was_there(1, 64));
  EXPECT_FALSE(values.was_there(2, 64));
  EXPECT_FALSE(values.was_there(1, 128));
  EXPECT_TRUE(values.was_there(1, 64));
  EXPECT_TRUE(values.was_there(2, 64));
  values.begin(1);
  EXPECT_FALSE(values.was_there(1, 64));
}

TEST_F(FieldValuesTest, WhatManyShareIsSeenInOneLookAmongAMillion) {
  look(1'000'000, 0);
  look(1'000'000, 0);
  EXPECT_GE(values.part(), 8u);
  EXPECT_GT(look(1'000'000, 1'000), 500u);
  EXPECT_GE(values.part(), 8u);
}

TEST_F(FieldValuesTest, AHeapThatShrinksIsReadAsAWholeAgain) {
  look(1'000'000, 0);
  look(1'000, 0);
  look(1'000, 0);
  EXPECT_EQ(values.part(), 1u);
  EXPECT_EQ(look(1'000, 2), 1u);
}

TEST_F(FieldValuesTest, AHeapThatGrowsDoesNotFillIt) {
  EXPECT_GT(look(4'000'000, 4'000), 2'000u);
  EXPECT_GT(look(4'000'000, 4'000), 2'000u);
}

// Each value has the same chance, however many there are.
TEST(AdoptableValuesTest, SomeOfAllAreChosen) {
  constexpr uint64_t kValues = 160, kLooks = 2'000;
  AdoptableValues values;
  ASSERT_TRUE(values.reserve());
  std::vector<uint64_t> chosen(kValues);
  for (uint64_t look = 0; look < kLooks; look++) {
    values.begin(look);
    EXPECT_EQ(values.rows(), 0u);
    for (uint64_t i = 0; i < kValues; i++) values.offer(3, {i, nullptr, nullptr, 0});
    EXPECT_EQ(values.offered(3), kValues);
    EXPECT_EQ(values.rows(), 1u);
    ASSERT_EQ(values.chosen_of(3), AdoptableValues::kOfRow);
    for (size_t i = 0; i < AdoptableValues::kOfRow; i++) chosen[values.chosen(3, i).value]++;
    EXPECT_EQ(values.chosen_of(4), 0u);
  }
  for (uint64_t i = 0; i < kValues; i++) EXPECT_NEAR(static_cast<double>(chosen[i]), kLooks * 0.1, kLooks * 0.05) << i;
  values.release();
}

}  // namespace
}  // namespace freehold::testing
