// The files of profiles and groups: what was written is read, and nothing else is.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "groups_file.h"
#include "profiles.h"
#include "text_file.h"

namespace freehold::grouping::testing {
namespace {

class FilesTest : public ::testing::Test {
 protected:
  FilesTest() { std::filesystem::create_directories(folder_); }
  ~FilesTest() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string text(const std::string& name) const {
    std::ostringstream all;
    all << std::ifstream(path(name)).rdbuf();
    return all.str();
  }
  void put(const std::string& name, const std::string& text) const { std::ofstream(path(name)) << text; }
  // With the first line and the checksum that it should have.
  void put_lines(const std::string& name, const std::string& kind, const std::string& lines) const {
    std::string all = "freehold " + kind + " 1\n" + lines;
    char sum[32];
    snprintf(sum, sizeof sum, "end %016lx\n", hash_of(all));
    put(name, all + sum);
  }
  std::string error_of(const std::string& name) const {
    Profile profile;
    std::string error;
    return read_profile(path(name), &profile, &error) ? "" : error;
  }

  std::string folder_ = ::testing::TempDir() + "grouping." + std::to_string(getpid());
  std::string error_;
};

TEST_F(FilesTest, AProfileThatWasWrittenIsRead) {
  for (uint64_t seed = 0; seed < 50; seed++) {
    std::mt19937_64 random(seed);
    Profile profile = random_profile(random), read;
    ASSERT_TRUE(write_profile(profile, path("p"), &error_)) << error_;
    ASSERT_TRUE(read_profile(path("p"), &read, &error_)) << error_;
    ASSERT_EQ(profile, read) << seed;
  }
}

TEST_F(FilesTest, GroupsThatWereWrittenAreRead) {
  for (uint64_t seed = 0; seed < 50; seed++) {
    std::mt19937_64 random(seed);
    Profile profile = random_profile(random);
    size_t dropped;
    GroupsFile made = make_groups(profile, groups_of(profile, graph_of(profile, {}), {}), &dropped), read;
    EXPECT_EQ(dropped, 0u);
    ASSERT_TRUE(write_groups(made, path("g"), &error_)) << error_;
    ASSERT_TRUE(read_groups(path("g"), &read, &error_)) << error_;
    ASSERT_EQ(made, read) << seed;
  }
}

TEST_F(FilesTest, AFileThatWasCutOffOrChangedIsRefused) {
  std::mt19937_64 random(7);
  ASSERT_TRUE(write_profile(random_profile(random), path("whole"), &error_));
  std::string whole = text("whole");
  for (size_t size = 0; size < whole.size(); size++) {
    put("part", whole.substr(0, size));
    EXPECT_NE(error_of("part"), "") << size;
  }
  for (size_t at = 0; at < whole.size(); at++) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    put("changed", changed);
    EXPECT_NE(error_of("changed"), "") << at;
  }
  put("more", whole + "x\n");
  EXPECT_NE(error_of("more"), "");
}

TEST_F(FilesTest, ErrorsSayWhatIsWrongAndWhere) {
  EXPECT_NE(error_of("none").find("none: cannot be opened: No such file"), std::string::npos) << error_of("none");
  put("foreign",
      "\x7f"
      "ELF something else");
  EXPECT_NE(error_of("foreign").find("is no freehold heap-profile"), std::string::npos);
  put_lines("groups", kGroupsKind, "sites 0\ngroups 0\n");
  EXPECT_NE(error_of("groups").find("is no freehold heap-profile"), std::string::npos);
  put("newer", "freehold heap-profile 2\nend 0\n");
  EXPECT_NE(error_of("newer").find("has version '2'"), std::string::npos) << error_of("newer");
  put("cut", "freehold heap-profile 1\nsites 0\n");
  EXPECT_NE(error_of("cut").find("cut off"), std::string::npos);
  put("sum", "freehold heap-profile 1\nsites 0\ncontexts 0\naffinities 0\nend 0000000000000000\n");
  EXPECT_NE(error_of("sum").find("damaged"), std::string::npos);
}

TEST_F(FilesTest, LinesThatAreNoneAreRefusedByNumber) {
  struct Case {
    const char *lines, *error;
  };
  const Case kCases[] = {
      {"sites 1\n1 f>g#1\ncontexts 1\n1 16 5 0\naffinities 0\n", ""},
      {"sites x\n", "line 2"},
      {"sites 99999999999\n", "line 2: the number is too large"},
      {"sites 2\n1 f>g#1\n1 f>g#1\ncontexts 0\naffinities 0\n", "line 4: the call site 'f>g#1' is there twice"},
      {"sites 1\n1 fg\ncontexts 0\naffinities 0\n", "line 3"},
      {"sites 1\n1 f>g#1\ncontexts 1\n1 16 5 1\naffinities 0\n", "line 5"},
      {"sites 1\n1 f>g#1\ncontexts 1\n1 16 5 0 0\naffinities 0\n", "line 5"},
      {"sites 1\n1 f>g#1\ncontexts 1\n1 16 -5 0\naffinities 0\n", "line 5"},
      {"sites 1\n1 f>g#1\ncontexts 2\n1 16 5 0\naffinities 0\n", "line 6"},
      {"sites 0\ncontexts 1\n1 16 5\naffinities 1\n0 1 3\n", "line 6"},
      {"sites 0\ncontexts 1\n1 16 5\naffinities 2\n0 0 3\n0 0 3\n", "line 7"},
      {"sites 0\ncontexts 0\naffinities 0\nmore\n", "line 5: there is something behind"},
      {"sites 0\ncontexts 0\n", "'affinities' is missing"},
  };
  for (const Case& one : kCases) {
    put_lines("lines", kProfileKind, one.lines);
    std::string error = error_of("lines");
    if (*one.error == '\0') {
      EXPECT_EQ(error, "");
    } else {
      EXPECT_NE(error.find(one.error), std::string::npos) << one.lines << error;
    }
  }
}

TEST_F(FilesTest, GroupsThatAreNoneAreRefused) {
  const char* kCases[] = {"sites 1\n1 56 f>g#1\ngroups 0\n",
                          "sites 2\n1 0 f>g#1\n1 0 f>h#1\ngroups 0\n",
                          "sites 1\n1 - f>g#1\ngroups 1\ngroup 1\n1\n",
                          "sites 2\n1 - f>g#1\n1 - f>h#1\ngroups 1\ngroup 1\n0 1\n",
                          "sites 0\ngroups 64\n",
                          "sites 1\n1 - f>g#1\ngroups 1\ngroup 2\n0\n"};
  GroupsFile groups;
  for (const char* lines : kCases) {
    put_lines("lines", kGroupsKind, lines);
    EXPECT_FALSE(read_groups(path("lines"), &groups, &error_)) << lines;
    EXPECT_NE(error_.find("line"), std::string::npos) << error_;
  }
  put_lines("lines", kGroupsKind, "sites 2\n1 - f>malloc#1\n1 0 f>h#1\ngroups 1\ngroup 1\n0 1\n");
  EXPECT_TRUE(read_groups(path("lines"), &groups, &error_)) << error_;
}

TEST_F(FilesTest, WhatCannotBeWrittenLeavesTheOldFile) {
  put("old", "old");
  std::filesystem::create_directories(path("old.folder"));
  Profile profile;
  EXPECT_FALSE(write_profile(profile, path("none/p"), &error_));
  EXPECT_NE(error_.find("cannot be written"), std::string::npos);
  // The new file cannot take the place of a folder, and is gone.
  EXPECT_FALSE(write_profile(profile, path("old.folder"), &error_));
  size_t files = 0;
  for ([[maybe_unused]] auto& one : std::filesystem::directory_iterator(folder_)) files++;
  EXPECT_EQ(files, 2u);
  EXPECT_EQ(text("old"), "old");
}

TEST_F(FilesTest, ProfilesOfOneProgramAddUp) {
  Profile a, b;
  uint32_t f = add_site(a, "f>malloc#1"), g = add_site(a, "g>malloc#1");
  add_context(a, 10, {f});
  add_context(a, 20, {g});
  a.affinities[{0, 1}] = 5;
  a.affinities[{0, 0}] = 2;
  // The same in another order, and one more.
  uint32_t g2 = add_site(b, "g>malloc#1"), h2 = add_site(b, "h>malloc#1"), f2 = add_site(b, "f>malloc#1");
  add_context(b, 1, {g2});
  add_context(b, 2, {h2});
  add_context(b, 3, {f2});
  b.affinities[{0, 2}] = 7;
  b.affinities[{0, 1}] = 1;
  ASSERT_TRUE(merge_into(&a, b, &error_)) << error_;
  EXPECT_EQ(a.sites.size(), 3u);
  ASSERT_EQ(a.contexts.size(), 3u);
  EXPECT_EQ(a.contexts[0].accesses, 13u);
  EXPECT_EQ(a.contexts[1].accesses, 21u);
  EXPECT_EQ(a.contexts[2].accesses, 2u);
  EXPECT_EQ(a.affinities, (std::map<std::pair<uint32_t, uint32_t>, uint64_t>{{{0, 0}, 2}, {{0, 1}, 12}, {{1, 2}, 1}}));
}

TEST_F(FilesTest, ProfilesOfTwoVersionsDoNot) {
  Profile a, b;
  add_site(a, "f>malloc#1", 1);
  add_site(b, "f>malloc#1", 2);
  Profile before = a;
  EXPECT_FALSE(merge_into(&a, b, &error_));
  EXPECT_NE(error_.find("the function 'f' differs"), std::string::npos) << error_;
  EXPECT_EQ(a, before);
}

// Two files of one name that each have a function f: one profile has sites of both.
TEST_F(FilesTest, FunctionsOfOneNameMayDifferInOneProfile) {
  Profile none, both;
  add_site(both, "util.c:f>malloc#1", 1);
  add_site(both, "util.c:f>calloc#1", 2);
  EXPECT_TRUE(merge_into(&none, both, &error_)) << error_;
  EXPECT_TRUE(merge_into(&none, both, &error_)) << error_;
  EXPECT_EQ(none.sites, both.sites);
}

}  // namespace
}  // namespace freehold::grouping::testing
