// What knobs.inc says of the settings is true of the meshing malloc.
#include <string>

#include "mesh_fixture.h"

namespace freehold::mesh::testing {
namespace {

bool read_setting(const std::string& setting, std::string* error) {
  knobs = {};
  const char* environment[] = {"PATH=/", setting.c_str(), nullptr};
  char text[512] = {};
  bool good = read_knobs(environment, text, sizeof text);
  *error = text;
  os::inject_failures("");
  return good;
}

struct Row {
  std::string variable, default_value;
};
const Row kRows[] = {
#define FREEHOLD_KNOB(variable, key, property, values, default_value, effect, parser) {variable, default_value},
#include "knobs.inc"
#undef FREEHOLD_KNOB
};

TEST(MeshKnobs, TheDefaultsAreThose) {
  for (const Row& row : kRows) {
    const std::string& value = row.default_value;
    if (!value.starts_with('`')) continue;  // in words, or none
    std::string error;
    EXPECT_TRUE(read_setting(row.variable + "=" + value.substr(1, value.size() - 2), &error)) << error;
    EXPECT_EQ(knobs, Knobs{}) << row.variable;
  }
  knobs = {};
}

TEST(MeshKnobs, WhatIsNotAllowedIsNamed) {
  std::string error;
  EXPECT_FALSE(read_setting("FREEHOLD_MESH_NONE=1", &error));
  for (const Row& row : kRows) EXPECT_NE(error.find(row.variable.substr(13)), std::string::npos) << error;
  for (const char* bad : {"FREEHOLD_MESH=2", "FREEHOLD_MESH_PERIOD=0", "FREEHOLD_MESH_PERIOD=x", "FREEHOLD_MESH_BARRIER=none", "FREEHOLD_MESH_LIMIT=5Q",
                          "FREEHOLD_MESH_LIMIT=0", "FREEHOLD_MESH_FAIL=mmap", "FREEHOLD_MESH_FAIL=none:1", "FREEHOLD_MESH_STRESS=-1"}) {
    EXPECT_FALSE(read_setting(bad, &error)) << bad;
    EXPECT_NE(error.find("expected is"), std::string::npos) << error;
  }
  EXPECT_TRUE(read_setting("FREEHOLD_MESH_LIMIT=", &error)) << "empty is not set";
  EXPECT_TRUE(read_setting("FREEHOLD_MESH_LIMIT=2G", &error));
  EXPECT_EQ(knobs.limit, uint64_t{2} << 30);
  knobs = {};
}

}  // namespace
}  // namespace freehold::mesh::testing
