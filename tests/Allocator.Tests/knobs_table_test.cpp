// What core/knobs.inc says of the settings is true of the program.
#include <gtest/gtest.h>

#include <string>

#include "core/knobs.h"

namespace freehold::testing {
namespace {

struct Row {
  std::string variable, key, property, values, default_value, effect;
};

const Row kRows[] = {
#define FREEHOLD_KNOB(variable, key, property, values, default_value, effect, parser) {variable, key, property, values, default_value, effect},
#include "core/knobs.inc"
#undef FREEHOLD_KNOB
};

bool read_setting(const std::string& setting, std::string* error) {
  core::knobs = {};
  const char* environment[] = {setting.c_str(), nullptr};
  char text[512] = {};
  bool good = core::read_knobs(environment, nullptr, text, sizeof text);
  *error = text;
  return good;
}

TEST(KnobsTable, EachRowIsComplete) {
  for (const Row& row : kRows) {
    EXPECT_TRUE(row.variable.starts_with("FREEHOLD_")) << row.variable;
    EXPECT_FALSE(row.values.empty() || row.effect.empty()) << row.variable;
    EXPECT_EQ(row.property.empty(), row.key.empty()) << "what can be configured has a property: " << row.variable;
    EXPECT_TRUE(row.key.empty() || row.key.starts_with("System.Heap.")) << row.key;
    EXPECT_TRUE(row.property.empty() || row.property.starts_with("Freehold")) << row.property;
  }
}

TEST(KnobsTable, TheDefaultsAreThose) {
  for (const Row& row : kRows) {
    const std::string& value = row.default_value;
    if (!value.starts_with('`')) continue;  // in words, or none
    std::string error;
    EXPECT_TRUE(read_setting(row.variable + "=" + value.substr(1, value.size() - 2), &error)) << error;
    EXPECT_EQ(core::knobs, core::Knobs{}) << row.variable;
  }
  core::knobs = {};
}

TEST(KnobsTable, AnUnknownVariableIsToldAllNames) {
  std::string error;
  ASSERT_FALSE(read_setting("FREEHOLD_NONE=1", &error));
  for (const Row& row : kRows) EXPECT_NE(error.find(row.variable.substr(row.variable.find('_'))), std::string::npos) << row.variable << " is not in: " << error;
  EXPECT_TRUE(error.ends_with(" and _FAIL.")) << error;
}

TEST(KnobsTable, EachKeyIsReadAndAWrongValueOfItIsNamed) {
  for (const Row& row : kRows) {
    if (row.key.empty()) continue;
    static std::string asked;
    asked = row.key;
    core::knobs = {};
    const char* environment[] = {nullptr};
    char error[512] = {};
    auto lookup = [](const char* key, char* value, size_t capacity) { return key == asked && snprintf(value, capacity, "?") == 1; };
    EXPECT_FALSE(core::read_knobs(environment, lookup, error, sizeof error)) << row.key;
    EXPECT_EQ(error, "The configuration setting " + row.key + " has the value '?'; expected is " + row.values + ".");
  }
  core::knobs = {};
}

TEST(KnobsTable, VariablesOfTheNativeHalfAndOfCompilersArePassedOver) {
  std::string error;
  for (const char* setting : {"FREEHOLD_MESH=0", "FREEHOLD_MESH_STATS=1", "FREEHOLD_NATIVE_STATS=1", "FREEHOLD_JIT=x", "FREEHOLD_CLANG=x", "FREEHOLD_CLANGXX=x",
                              "FREEHOLD_COMPILER_VERIFY=1", "FREEHOLD_PROFILE=p", "FREEHOLD_PROFILE_GAP=0"})
    EXPECT_TRUE(read_setting(setting, &error)) << error;
  for (const char* setting : {"FREEHOLD_MESHES=1", "FREEHOLD_NATIVES=1"}) EXPECT_FALSE(read_setting(setting, &error)) << setting;
  core::knobs = {};
}

// An error message ends where its room does.
TEST(KnobsTable, AMessageFitsItsRoom) {
  const char* environment[] = {"FREEHOLD_NONE=1", nullptr};
  char whole[512], text[512];
  ASSERT_FALSE(core::read_knobs(environment, nullptr, whole, sizeof whole));
  for (size_t capacity = 0; capacity < strlen(whole); capacity++) {
    memset(text, '#', sizeof text);
    EXPECT_FALSE(core::read_knobs(environment, nullptr, text, capacity));
    EXPECT_EQ(text[capacity], '#');
    if (capacity != 0) {
      EXPECT_EQ(std::string(text), std::string(whole).substr(0, capacity - 1));
    }
  }
}

}  // namespace
}  // namespace freehold::testing
