// docs/settings.md lists what the meshing malloc reads.
#include <fstream>
#include <sstream>

#include "mesh_fixture.h"

namespace freehold::mesh::testing {
namespace {

std::string trim(std::string text) {
  text.erase(0, text.find_first_not_of(" `"));
  text.erase(text.find_last_not_of(" `") + 1);
  return text;
}

bool read_setting(const std::string& setting, std::string* error) {
  knobs = {};
  const char* environment[] = {"PATH=/", setting.c_str(), nullptr};
  char text[512] = {};
  bool good = read_knobs(environment, text, sizeof text);
  *error = text;
  os::inject_failures("");
  return good;
}

TEST(MeshKnobs, ThePageListsWhatIsRead) {
  std::ifstream page(FREEHOLD_KNOBS_PAGE);
  ASSERT_TRUE(page);
  size_t found = 0;
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with("| `FREEHOLD_MESH")) continue;
    std::vector<std::string> cells;
    std::istringstream parts(line.substr(1));
    for (std::string cell; std::getline(parts, cell, '|');) cells.push_back(trim(cell));
    ASSERT_EQ(cells.size(), 6u) << line;
    ASSERT_LT(found, knob_count());
    EXPECT_EQ(cells[0], knob_name(found).variable);
    EXPECT_EQ(cells[3], knob_name(found).expected) << cells[0];
    if (line.find("| `" + cells[4] + "` |") != std::string::npos) {  // a default that is a value
      std::string error;
      EXPECT_TRUE(read_setting(cells[0] + "=" + cells[4], &error)) << error;
      EXPECT_EQ(knobs, Knobs{}) << cells[0];
    }
    found++;
  }
  EXPECT_EQ(found, knob_count());
  knobs = {};
}

TEST(MeshKnobs, WhatIsNotAllowedIsNamed) {
  std::string error;
  EXPECT_FALSE(read_setting("FREEHOLD_MESH_NONE=1", &error));
  for (size_t i = 1; i < knob_count(); i++) EXPECT_NE(error.find(std::string(knob_name(i).variable).substr(13)), std::string::npos) << error;
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
