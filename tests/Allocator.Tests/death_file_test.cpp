// The file of deaths is there as a whole, or as it was.
#include "diag/death_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
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
  // In pieces.
  bool write(const std::string& json) {
    diag::add_to_death_file(json.data(), json.size() / 2);
    diag::add_to_death_file(json.data() + json.size() / 2, json.size() - json.size() / 2);
    return diag::end_death_file(true, reason, sizeof reason);
  }
  size_t files() const {
    size_t count = 0;
    for (auto at = std::filesystem::directory_iterator(folder); at != std::filesystem::directory_iterator(); ++at) count++;
    return count;
  }
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

// What is killed while it writes leaves nothing but the file before. (A file system that has no files without a name keeps the half.)
TEST_F(DeathFileTest, AHalfLeavesNothingBehind) {
  std::string path = folder + "/deaths";
  ASSERT_TRUE(prepare(path));
  ASSERT_TRUE(write("{\"first\":true}"));
  std::string before = read(path);
  int unnamed = open(folder.c_str(), O_TMPFILE | O_WRONLY, 0600);
  bool has_unnamed = unnamed >= 0;
  if (has_unnamed) close(unnamed);
  diag::add_to_death_file("{\"second\"", 9);
  EXPECT_EQ(files(), has_unnamed ? 1u : 2u);
  // Given up.
  EXPECT_TRUE(diag::end_death_file(false, reason, sizeof reason));
  EXPECT_EQ(files(), 1u);
  EXPECT_EQ(read(path), before);
  pid_t child = fork();
  if (child == 0) {
    prepare(path);
    diag::add_to_death_file("{\"third\"", 9);
    raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(files(), has_unnamed ? 1u : 2u);
  EXPECT_EQ(read(path), before);
}

TEST_F(DeathFileTest, WhatFailsInTheMiddleIsSaidAtTheEndAndTheNextOneBeginsAnew) {
  std::string path = folder + "/deaths";
  ASSERT_TRUE(prepare(path));
  signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit little = {4096, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &little), 0);
  EXPECT_FALSE(write(std::string(100'000, ' ')));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_NE(strstr(reason, "deaths' cannot be written: File too large"), nullptr) << reason;
  EXPECT_EQ(files(), 0u);
  ASSERT_TRUE(write("{}"));
  EXPECT_EQ(read(path).size(), 26u);
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
