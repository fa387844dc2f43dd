// The file of deaths is there as a whole, or as it was.
#include "diag/death_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>

#include "core/module_state.h"
#include "diag/dump_stream.h"

namespace freehold::testing {
namespace {

class DeathFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/freehold-deaths-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder = name;
  }
  void TearDown() override {
    core::renew_states();
    ASSERT_EQ(system(("rm -rf " + folder).c_str()), 0);
  }
  bool prepare(const std::string& path) { return diag::prepare_death_file(path.c_str(), reason, sizeof reason); }
  bool write(const std::string& json) { return diag::write_death_file(json.data(), json.size(), reason, sizeof reason); }
  static std::string read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static std::string beside(const std::string& path) { return path + "." + std::to_string(getpid()) + ".part"; }
  static bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

  std::string folder;
  char reason[512] = {};
};

TEST_F(DeathFileTest, HasAHeaderWithLengthAndChecksum) {
  std::string path = folder + "/deaths";
  ASSERT_TRUE(prepare(path));
  EXPECT_FALSE(exists(path));
  EXPECT_FALSE(exists(beside(path)));
  std::string json = "{\"a\":1}";
  ASSERT_TRUE(write(json));
  std::string content = read(path);
  ASSERT_EQ(content.size(), 24 + json.size());
  EXPECT_EQ(content.substr(0, 8), "FHDEATHS");
  uint32_t numbers[2];
  uint64_t length;
  memcpy(numbers, content.data() + 8, 8);
  memcpy(&length, content.data() + 16, 8);
  EXPECT_EQ(numbers[0], 1u);
  EXPECT_EQ(numbers[1], diag::checksum(reinterpret_cast<const uint8_t*>(json.data()), json.size()));
  EXPECT_EQ(length, json.size());
  EXPECT_EQ(content.substr(24), json);
  struct stat state;
  ASSERT_EQ(stat(path.c_str(), &state), 0);
  EXPECT_EQ(state.st_mode & 0777, 0600u);
  // Anew, as a whole.
  ASSERT_TRUE(write("{}"));
  EXPECT_EQ(read(path).size(), 26u);
  EXPECT_FALSE(exists(beside(path)));
}

TEST_F(DeathFileTest, IsInTheFolderWhereTheProgramBegan) {
  ASSERT_EQ(chdir(folder.c_str()), 0);
  ASSERT_TRUE(prepare("deaths-%p"));
  ASSERT_EQ(chdir("/"), 0);
  ASSERT_TRUE(write("{}"));
  EXPECT_TRUE(exists(folder + "/deaths-" + std::to_string(getpid())));
}

TEST_F(DeathFileTest, WhatCannotBeWrittenIsRefused) {
  EXPECT_FALSE(prepare(folder + "/none/deaths"));
  EXPECT_NE(strstr(reason, "none/deaths' cannot be written: No such file"), nullptr) << reason;
  EXPECT_FALSE(prepare(folder));
  EXPECT_NE(strstr(reason, "no file"), nullptr) << reason;
  EXPECT_FALSE(prepare("/dev/null"));
  EXPECT_FALSE(prepare(std::string(5000, 'x')));
  EXPECT_NE(strstr(reason, "too long"), nullptr) << reason;
}

TEST_F(DeathFileTest, WhatFailsLeavesTheFileAsItWas) {
  std::string path = folder + "/deaths";
  ASSERT_TRUE(prepare(path));
  ASSERT_TRUE(write("{\"first\":true}"));
  std::string before = read(path);
  ASSERT_EQ(mkdir(beside(path).c_str(), 0700), 0);
  EXPECT_FALSE(write("{}"));
  EXPECT_EQ(read(path), before);
}

// A pipe or a file that somebody has put where it is written is replaced: nobody waits for it, or gets its content.
TEST_F(DeathFileTest, WhatIsBesideItIsNotUsed) {
  std::string path = folder + "/deaths", other = folder + "/other";
  ASSERT_EQ(mkfifo(beside(path).c_str(), 0666), 0);
  ASSERT_TRUE(prepare(path));
  ASSERT_EQ(mkfifo(beside(path).c_str(), 0666), 0);
  ASSERT_TRUE(write("{}"));
  EXPECT_EQ(read(path).size(), 26u);
  std::ofstream(other) << "kept";
  ASSERT_EQ(symlink(other.c_str(), beside(path).c_str()), 0);
  ASSERT_TRUE(write("{}"));
  EXPECT_EQ(read(other), "kept");
}

// A program that this one starts, with the same setting, begins and ends between: each file is a whole one.
TEST_F(DeathFileTest, TwoProcessesWriteBesideEachOther) {
  std::string path = folder + "/deaths";
  ASSERT_TRUE(prepare(path));
  std::ofstream(beside(path)) << "half";  // as it is while this one writes
  pid_t child = fork();
  if (child == 0) _exit(prepare(path) && write("{\"child\":true}") ? 0 : 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(read(beside(path)), "half");
  EXPECT_EQ(read(path).substr(24), "{\"child\":true}");
}

TEST_F(DeathFileTest, AChildOfAForkWritesNothing) {
  std::string path = folder + "/deaths";
  ASSERT_TRUE(prepare(path));
  ASSERT_TRUE(write("{\"parent\":true}"));
  std::string before = read(path);
  pid_t child = fork();
  if (child == 0) _exit(write("{}") ? 0 : 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(read(path), before);
}

}  // namespace
}  // namespace freehold::testing
