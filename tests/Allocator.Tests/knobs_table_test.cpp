// One table of settings in three places: core/knobs.cpp, docs/settings.md and the package's targets.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "core/knobs.h"

namespace freehold::testing {
namespace {

struct Row {
  std::string variable, key, property, values, default_value, effect;
};

std::string trim(std::string text) {
  text.erase(0, text.find_first_not_of(' '));
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

bool is_quoted(const std::string& cell) { return cell.size() >= 2 && cell.front() == '`' && cell.back() == '`'; }

std::string unquote(const std::string& cell) { return is_quoted(cell) ? cell.substr(1, cell.size() - 2) : cell; }

std::string read_file(const char* path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The rows of docs/settings.md that begin with a variable.
std::vector<Row> documented() {
  std::vector<Row> rows;
  std::istringstream page(read_file(FREEHOLD_KNOBS_PAGE));
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with("| `FREEHOLD_") || line.starts_with("| `FREEHOLD_MESH")) continue;  // the meshing malloc's: tests/Meshing.Tests
    std::vector<std::string> cells;
    std::istringstream parts(line.substr(1));
    for (std::string cell; std::getline(parts, cell, '|');) cells.push_back(trim(cell));
    EXPECT_EQ(cells.size(), 6u) << line;
    cells.resize(6);
    rows.push_back({unquote(cells[0]), unquote(cells[1]), unquote(cells[2]), cells[3], cells[4], cells[5]});
  }
  return rows;
}

bool read_setting(const std::string& setting, std::string* error) {
  core::knobs = {};
  const char* environment[] = {setting.c_str(), nullptr};
  char text[512] = {};
  bool good = core::read_knobs(environment, nullptr, text, sizeof text);
  *error = text;
  return good;
}

TEST(KnobsTable, ThePageListsWhatTheProgramReads) {
  std::vector<Row> rows = documented();
  ASSERT_EQ(rows.size(), core::knob_count());
  for (size_t i = 0; i < rows.size(); i++) {
    core::KnobName knob = core::knob_name(i);
    EXPECT_EQ(rows[i].variable, knob.variable);
    EXPECT_EQ(rows[i].key, knob.key != nullptr ? knob.key : "") << knob.variable;
    EXPECT_EQ(rows[i].values, knob.expected) << knob.variable;
    EXPECT_FALSE(rows[i].effect.empty()) << knob.variable;
    EXPECT_EQ(rows[i].property.empty(), knob.key == nullptr) << "what can be configured has a property: " << knob.variable;
  }
}

TEST(KnobsTable, TheDefaultsAreThose) {
  for (const Row& row : documented()) {
    if (!is_quoted(row.default_value)) continue;  // in words, or none
    std::string error;
    EXPECT_TRUE(read_setting(row.variable + "=" + unquote(row.default_value), &error)) << error;
    EXPECT_EQ(core::knobs, core::Knobs{}) << row.variable;
  }
  core::knobs = {};
}

TEST(KnobsTable, AnUnknownVariableIsToldAllNames) {
  std::string error;
  ASSERT_FALSE(read_setting("FREEHOLD_NONE=1", &error));
  for (size_t i = 0; i < core::knob_count(); i++) {
    std::string name = core::knob_name(i).variable;
    EXPECT_NE(error.find(name.substr(name.find('_'))), std::string::npos) << name << " is not in: " << error;
  }
}

TEST(KnobsTable, VariablesOfTheMeshingMallocArePassedOver) {
  std::string error;
  EXPECT_TRUE(read_setting("FREEHOLD_MESH=0", &error)) << error;
  EXPECT_TRUE(read_setting("FREEHOLD_MESH_STATS=1", &error)) << error;
  EXPECT_FALSE(read_setting("FREEHOLD_MESHES=1", &error));
  core::knobs = {};
}

TEST(KnobsTable, ThePackageSetsTheSameKeys) {
  std::string targets = read_file(FREEHOLD_PACKAGE_TARGETS);
  std::regex item(R"re(<FreeholdSetting Include="([^"]+)" Property="([^"]+)" Value="\$\(([^)]+)\)")re");
  std::vector<std::pair<std::string, std::string>> settings, expected;
  for (std::sregex_iterator match(targets.begin(), targets.end(), item), end; match != end; ++match) {
    settings.emplace_back((*match)[1], (*match)[2]);
    EXPECT_EQ((*match)[2], (*match)[3]) << "the property that is named is the one that is read";
  }
  for (const Row& row : documented()) {
    if (!row.key.empty()) expected.emplace_back(row.key, row.property);
  }
  std::sort(settings.begin(), settings.end());
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(settings, expected);
}

}  // namespace
}  // namespace freehold::testing
