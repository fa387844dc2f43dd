// Whoever adds a system call to the meshing malloc says in calls.txt how it may fail, and which test makes it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "os.h"

namespace freehold::mesh::testing {
namespace {

struct Row {
  int count;
  std::string failure, test;
};
using Table = std::map<std::string, Row>;  // by file and call

Table read_table() {
  Table table;
  std::ifstream file(FREEHOLD_SOURCE "/tests/Meshing.Tests/system_calls/calls.txt");
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string name, call;
    Row row;
    words >> name >> call >> row.count >> row.failure >> std::ws;
    std::getline(words, row.test);
    EXPECT_FALSE(row.test.empty()) << line;
    EXPECT_TRUE(table.emplace(name + " " + call, row).second) << "twice: " << line;
  }
  return table;
}

// The number of calls of each kind in each file. What is compared with a number (n == SYS_futex) is no call.
std::map<std::string, int> find_calls() {
  std::map<std::string, int> found;
  const std::regex call(R"((==\s*)?\b(SYS_[a-z0-9_]+|UFFDIO_(?:API|REGISTER|UNREGISTER|WRITEPROTECT|WAKE)\b(?!_)|freehold::os::[a-z_]+(?=\()))");
  // Functions of src/Platform that make system calls.
  const std::set<std::string> calling = {"map",       "map_shared",         "unmap",      "protect",   "advise",           "remap_frames",
                                         "map_again", "request_membarrier", "membarrier", "read_file", "maximal_mappings", "read_clock"};
  for (const auto& entry : std::filesystem::directory_iterator(FREEHOLD_SOURCE "/src/NativeBridge/Meshing")) {
    if (entry.path().extension() != ".cpp" && entry.path().extension() != ".h") continue;
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) {
      size_t comment = line.find("//");
      if (comment != std::string::npos) line.resize(comment);
      if (line.find("#if") == 0) continue;
      for (std::sregex_iterator at(line.begin(), line.end(), call), end; at != end; ++at) {
        std::string name = (*at)[2].str();
        if ((*at)[1].matched || name.rfind("freehold::os::", 0) == 0) {
          if ((*at)[1].matched || calling.count(name.substr(14)) == 0) continue;
          name = "os::" + name.substr(14);
        }
        found[entry.path().filename().string() + " " + name]++;
      }
    }
  }
  return found;
}

TEST(SystemCallTable, HasEachPlaceThatMakesOne) {
  Table table = read_table();
  std::map<std::string, int> found = find_calls();
  for (const auto& [place, count] : found) {
    auto row = table.find(place);
    ASSERT_NE(row, table.end()) << place << " has no row in tests/Meshing.Tests/system_calls/calls.txt: say there how it fails, and which test makes it fail";
    EXPECT_EQ(row->second.count, count) << place << ": a place was added or removed; its row says how many there are";
  }
  for (const auto& [place, row] : table) EXPECT_EQ(found.count(place), 1u) << "calls.txt has " << place << ", and the source has not";
  EXPECT_GT(found.size(), 30u);
}

TEST(SystemCallTable, NamesFailuresAndTestsThatExist) {
  std::set<std::string> names, tests, used;
  for (size_t i = 0; i < static_cast<size_t>(os::Call::kCount); i++) names.insert(os::call_name(static_cast<os::Call>(i)));
  const auto& unit = *::testing::UnitTest::GetInstance();
  for (int suite = 0; suite < unit.total_test_suite_count(); suite++) {
    const auto& one = *unit.GetTestSuite(suite);
    for (int i = 0; i < one.total_test_count(); i++) tests.insert(std::string(one.name()) + "." + one.GetTestInfo(i)->name());
  }
  for (const auto& [place, row] : read_table()) {
    if (row.failure == "-") continue;
    EXPECT_EQ(names.count(row.failure), 1u) << place << ": no failure is called " << row.failure;
    used.insert(row.failure);
    // The verbs of programs are tests/MeshingPrograms/run.sh's.
    if (row.test.rfind("MeshingPrograms: ", 0) == 0) {
      std::ifstream file(FREEHOLD_SOURCE "/tests/MeshingPrograms/run.sh");
      std::string script((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
      EXPECT_NE(script.find("\"" + row.test.substr(17) + "\""), std::string::npos) << place << ": run.sh has no case \"" << row.test.substr(17) << "\"";
    } else {
      EXPECT_EQ(tests.count(row.test), 1u) << place << ": there is no test " << row.test;
    }
  }
  for (const std::string& name : names) EXPECT_EQ(used.count(name), 1u) << "no place of calls.txt fails as " << name;
}

}  // namespace
}  // namespace freehold::mesh::testing
