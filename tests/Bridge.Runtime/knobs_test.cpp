// What knobs.inc says of the settings is true of the handle heap.
#include "knobs.h"

#include <gtest/gtest.h>

#include <string>

namespace freehold::bridge::testing {
namespace {

struct Row {
  std::string variable, default_value;
};
const Row kRows[] = {
#define FREEHOLD_KNOB(variable, key, property, values, default_value, effect, parser) {variable, default_value},
#include "knobs.inc"
#undef FREEHOLD_KNOB
};

class KnobsTest : public ::testing::Test {
 protected:
  bool read(const std::string& setting) {
    knobs = {};
    const char* environment[] = {"PATH=/", setting.c_str(), nullptr};
    char text[512] = {};
    bool good = read_knobs(environment, text, sizeof text);
    error_ = text;
    return good;
  }
  ~KnobsTest() override { knobs = before_; }

  std::string error_;

 private:
  Knobs before_ = knobs;
};

TEST_F(KnobsTest, TheDefaultsAreThose) {
  for (const Row& row : kRows) {
    const std::string& value = row.default_value;
    if (!value.starts_with('`')) continue;
    EXPECT_TRUE(read(row.variable + "=" + value.substr(1, value.size() - 2))) << error_;
    EXPECT_EQ(knobs, Knobs{}) << row.variable;
  }
}

TEST_F(KnobsTest, ReadsWhatIsSet) {
  EXPECT_TRUE(read("FREEHOLD_NATIVE_DEFRAGMENT=0")) << error_;
  EXPECT_FALSE(knobs.defragment);
  EXPECT_TRUE(read("FREEHOLD_NATIVE_STATS=true")) << error_;
  EXPECT_TRUE(knobs.statistics);
  EXPECT_TRUE(read("FREEHOLD_NATIVE_SERVICE=plain")) << error_;
  EXPECT_EQ(knobs.service, ServiceChoice::kPlain);
  EXPECT_TRUE(read("FREEHOLD_NATIVE_SERVICE=defragmenter")) << error_;
  EXPECT_EQ(knobs.service, ServiceChoice::kDefragmenter);
  EXPECT_TRUE(read("FREEHOLD_NATIVE_STRESS=move")) << error_;
  EXPECT_EQ(knobs.stress, 64u);
  EXPECT_TRUE(read("FREEHOLD_NATIVE_STRESS=move:7")) << error_;
  EXPECT_EQ(knobs.stress, 7u);
  EXPECT_TRUE(knobs.stress_moves);
  EXPECT_TRUE(read("FREEHOLD_NATIVE_STRESS=stop:9")) << error_;
  EXPECT_EQ(knobs.stress, 9u);
  EXPECT_FALSE(knobs.stress_moves);
  EXPECT_TRUE(read("FREEHOLD_DEBUG=1")) << error_;
  EXPECT_TRUE(knobs.debug);
  EXPECT_FALSE(knobs.stacks);
  EXPECT_TRUE(read("FREEHOLD_DEBUG=stacks")) << error_;
  EXPECT_TRUE(knobs.debug);
  EXPECT_TRUE(knobs.stacks);
  EXPECT_TRUE(read("FREEHOLD_NATIVE_STRESS=")) << "empty is not set";
  EXPECT_EQ(knobs.stress, 0u);
}

TEST_F(KnobsTest, WhatIsNotAllowedIsNamed) {
  EXPECT_FALSE(read("FREEHOLD_NATIVE_NONE=1"));
  for (const Row& row : kRows) {
    if (!row.variable.starts_with("FREEHOLD_NATIVE_")) continue;
    EXPECT_NE(error_.find(row.variable.substr(strlen("FREEHOLD_NATIVE"))), std::string::npos) << error_;
  }
  EXPECT_FALSE(read("FREEHOLD_DEBUGS=1"));
  EXPECT_NE(error_.find("FREEHOLD_DEBUGS is not known. Known are FREEHOLD_DEBUG."), std::string::npos) << error_;
  for (const char* bad : {"FREEHOLD_NATIVE_STATS=2", "FREEHOLD_NATIVE_SERVICE=1", "FREEHOLD_NATIVE_STRESS=moves", "FREEHOLD_NATIVE_STRESS=m",
                          "FREEHOLD_NATIVE_STRESS=stop1", "FREEHOLD_NATIVE_STRESS=move:", "FREEHOLD_NATIVE_STRESS=move:0", "FREEHOLD_NATIVE_STRESS=move:1x",
                          "FREEHOLD_NATIVE_STRESS=move:-1", "FREEHOLD_DEBUG=2", "FREEHOLD_DEBUG=stack"}) {
    EXPECT_FALSE(read(bad)) << bad;
    EXPECT_NE(error_.find("expected is"), std::string::npos) << error_;
  }
}

}  // namespace
}  // namespace freehold::bridge::testing
