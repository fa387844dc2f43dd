// Tests of the JIT hook: the search over made-up buffers, the official JIT, and JITs spoilt on purpose.
// The official JIT of each version is taken from NuGet's cache; without it the tests fail, they do not skip.
#include "patch.h"
#include "pattern.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace freehold::jit {
namespace {

using Bytes = std::vector<std::uint8_t>;

void put(Bytes& buffer, std::size_t at, const Patch& patch) { std::memcpy(buffer.data() + at, patch.bytes.data(), patch.bytes.size()); }

std::string official_jit(const KnownJit& known) {
  const char* packages = std::getenv("NUGET_PACKAGES");
  const char* home = std::getenv("HOME");
  const std::string root = packages != nullptr ? packages : std::string(home != nullptr ? home : "") + "/.nuget/packages";
  return root + "/runtime.linux-x64.microsoft.dotnet.ilcompiler/" + known.version + "/tools/libclrjit_unix_x64_x64.so";
}

Bytes read_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(stream), {});
}

// A copy of the official JIT, changed by the test, in a file of its own that goes away with it.
class SpoiltJit {
 public:
  explicit SpoiltJit(const Bytes& content) : path_(testing::TempDir() + "spoilt_jit_XXXXXX") {
    const int file = mkstemp(path_.data());
    EXPECT_GE(file, 0);
    EXPECT_EQ(write(file, content.data(), content.size()), static_cast<ssize_t>(content.size()));
    close(file);
  }
  ~SpoiltJit() { unlink(path_.c_str()); }
  SpoiltJit(const SpoiltJit&) = delete;
  SpoiltJit& operator=(const SpoiltJit&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string protection_of(const void* address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long start = 0, end = 0;
    char protection[5] = {};
    if (std::sscanf(line.c_str(), "%lx-%lx %4s", &start, &end, protection) == 3 && reinterpret_cast<unsigned long>(address) >= start &&
        reinterpret_cast<unsigned long>(address) < end) {
      return protection;
    }
  }
  return "unmapped";
}

// Runs in a death test: what ilc does with the library that --jitpath names.
[[noreturn]] void start_hook(const std::string& jit) {
  setenv("FREEHOLD_JIT", jit.c_str(), 1);
  void* hook = dlopen(FREEHOLD_JIT_HOOK, RTLD_NOW);
  auto startup = hook != nullptr ? reinterpret_cast<void (*)(void*)>(dlsym(hook, "jitStartup")) : nullptr;
  if (startup == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    _exit(99);
  }
  startup(nullptr);
  std::fprintf(stderr, "the JIT was started\n");
  _exit(0);
}

// A pattern of the search's tests, with bytes behind it that count too in one of the two.
constexpr std::uint8_t kBytes[] = {0x80, 0xbf, 0x21, 0x09, 0x80, 0x00, 0x74, 0x0e};
constexpr std::uint8_t kBehind[] = {0xc6, 0x80, 0x38};
constexpr Patch kPlain = {"plain", kBytes, 6, {0x90, 0x90}};
constexpr Patch kFollowed = {"followed", kBytes, 6, {0xeb, 0x0e}, 22, kBehind};

TEST(Pattern, EmptyAndShortBuffersHoldNothing) {
  EXPECT_EQ(find_pattern({}, kPlain).count, 0u);
  const Bytes almost(std::begin(kBytes), std::end(kBytes) - 1);
  EXPECT_EQ(find_pattern(almost, kPlain).count, 0u);
}

TEST(Pattern, AbsentWhenAnyByteDiffers) {
  for (std::size_t i = 0; i < std::size(kBytes); ++i) {
    Bytes buffer(64, 0xcc);
    put(buffer, 20, kPlain);
    buffer[20 + i] ^= 0x01;
    EXPECT_EQ(find_pattern(buffer, kPlain).count, 0u) << "byte " << i;
  }
}

TEST(Pattern, FoundOnceAtEveryOffset) {
  for (std::size_t at = 0; at <= 100 - std::size(kBytes); ++at) {
    Bytes buffer(100, 0x80);  // the pattern's first byte everywhere: each is a false start
    put(buffer, at, kPlain);
    const PatternMatch match = find_pattern(buffer, kPlain);
    EXPECT_EQ(match.count, 1u) << "at " << at;
    EXPECT_EQ(match.offset, at);
  }
}

TEST(Pattern, CutOffAtTheEndIsAbsent) {
  Bytes buffer(100, 0);
  std::memcpy(buffer.data() + 100 - std::size(kBytes) + 1, kBytes, std::size(kBytes) - 1);
  EXPECT_EQ(find_pattern(buffer, kPlain).count, 0u);
}

TEST(Pattern, CountsEveryOccurrence) {
  Bytes buffer(200, 0);
  put(buffer, 0, kPlain);
  put(buffer, std::size(kBytes), kPlain);  // back to back
  put(buffer, 200 - std::size(kBytes), kPlain);
  const PatternMatch match = find_pattern(buffer, kPlain);
  EXPECT_EQ(match.count, 3u);
  EXPECT_EQ(match.offset, 0u);
}

TEST(Pattern, WhatFollowsCountsWhereItIsAskedFor) {
  Bytes buffer(100, 0);
  put(buffer, 10, kFollowed);
  EXPECT_EQ(find_pattern(buffer, kFollowed).count, 0u);
  std::memcpy(buffer.data() + 32, kBehind, std::size(kBehind));
  EXPECT_EQ(find_pattern(buffer, kFollowed).count, 1u);
  EXPECT_EQ(find_pattern(buffer, kFollowed).offset, 10u);
  // It would lie behind the end.
  EXPECT_EQ(find_pattern(std::span(buffer).first(34), kFollowed).count, 0u);
  EXPECT_EQ(find_pattern(std::span(buffer).first(20), kFollowed).count, 0u);
}

TEST(Pattern, EveryVersionHasPatchesThatFit) {
  ASSERT_GE(known_jits().size(), 2u);
  for (const KnownJit& known : known_jits()) {
    EXPECT_FALSE(known.patches.empty()) << known.version;
    for (const Patch& patch : known.patches) {
      EXPECT_LE(patch.offset + patch.replacement.size(), patch.bytes.size()) << known.version << " " << patch.name;
      EXPECT_NE(0, std::memcmp(patch.bytes.data() + patch.offset, patch.replacement.data(), patch.replacement.size())) << known.version << " " << patch.name;
    }
  }
}

class Version : public testing::TestWithParam<const KnownJit*> {
 protected:
  const KnownJit& known() const { return *GetParam(); }
  std::string path() const { return official_jit(known()); }
};

std::vector<const KnownJit*> all_versions() {
  std::vector<const KnownJit*> all;
  for (const KnownJit& known : known_jits()) {
    all.push_back(&known);
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Official, Version, testing::ValuesIn(all_versions()), [](const auto& info) {
  std::string name = info.param->version;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
});

TEST_P(Version, IsChangedInTheNamedPlacesOnly) {
  void* plain = dlopen(path().c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(plain, nullptr) << path() << " is needed: restore a project that publishes with ILCompiler " << known().version;
  dlclose(plain);
  const Bytes file = read_file(path());

  const LoadedJit jit = load_and_patch(path().c_str());
  ASSERT_EQ(jit.status, LoadStatus::ok) << jit.detail;
  EXPECT_STREQ(jit.known->version, known().version);
  ASSERT_EQ(jit.places.size(), known().patches.size());
  for (std::size_t i = 0; i < jit.places.size(); ++i) {
    const Patch& patch = known().patches[i];
    Bytes expected(patch.bytes.begin(), patch.bytes.end());
    std::memcpy(expected.data() + patch.offset, patch.replacement.data(), patch.replacement.size());
    EXPECT_EQ(Bytes(jit.places[i], jit.places[i] + expected.size()), expected) << patch.name;
    EXPECT_EQ(protection_of(jit.places[i] + patch.offset), "r-xp");
  }
  EXPECT_EQ(read_file(path()), file) << "the file on disk must stay as it is";
  EXPECT_NE(jit.startup, nullptr);
  EXPECT_NE(jit.get_jit, nullptr);
  EXPECT_EQ(describe_failure(jit, path()), "");

  // The copy in this process is patched now: a second patch must see that, not pretend.
  EXPECT_EQ(load_and_patch(path().c_str()).status, LoadStatus::pattern_absent);
  dlclose(jit.library);
}

TEST_P(Version, IsKnownByNoOtherVersionsPatterns) {
  const Bytes file = read_file(path());
  ASSERT_FALSE(file.empty()) << path();
  for (const KnownJit& other : known_jits()) {
    for (const Patch& patch : other.patches) {
      EXPECT_EQ(find_pattern(file, patch).count, &other == &known() ? 1u : 0u) << other.version << " " << patch.name;
    }
  }
}

TEST_P(Version, PatternAcrossAPageBoundaryIsChangedAndProtectedAgain) {
  // Move the last pattern so that the two bytes lie on two pages of the loaded image.
  Bytes file = read_file(path());
  const Patch& patch = known().patches.back();
  const PatternMatch match = find_pattern(file, patch);
  ASSERT_EQ(match.count, 1u);
  std::memset(file.data() + match.offset, 0xcc, patch.bytes.size());
  const std::size_t boundary = (match.offset + 0x1fff) & ~std::size_t{0xfff};
  put(file, boundary - patch.offset - 1, patch);
  const SpoiltJit copy(file);
  const LoadedJit jit = load_and_patch(copy.path().c_str());
  ASSERT_EQ(jit.status, LoadStatus::ok) << jit.detail;
  const std::uint8_t* changed = jit.places.back() + patch.offset;
  ASSERT_EQ(reinterpret_cast<std::uintptr_t>(changed) & 0xfff, 0xfffu);
  EXPECT_EQ(changed[0], patch.replacement[0]);
  EXPECT_EQ(changed[1], patch.replacement[1]);
  EXPECT_EQ(protection_of(changed), "r-xp");
  EXPECT_EQ(protection_of(changed + 1), "r-xp");
  dlclose(jit.library);
}

// Whichever of the patterns is missing.
TEST_P(Version, HookStopsWhenAPatternIsAbsent) {
  for (const Patch& patch : known().patches) {
    Bytes file = read_file(path());
    const PatternMatch match = find_pattern(file, patch);
    ASSERT_EQ(match.count, 1u);
    file[match.offset + patch.offset + 1] ^= 0x01;
    const SpoiltJit copy(file);
    EXPECT_EXIT(start_hook(copy.path()), testing::ExitedWithCode(1), "^error FH0007: .* does not contain .*10\\.0\\.12 or 9\\.0\\.22") << patch.name;
  }
}

TEST_P(Version, HookStopsWhenAPatternIsNotUnique) {
  for (const Patch& patch : known().patches) {
    Bytes file = read_file(path());
    const PatternMatch match = find_pattern(file, patch);
    ASSERT_EQ(match.count, 1u);
    put(file, match.offset + 4096, patch);
    if (!patch.behind.empty()) {
      std::memcpy(file.data() + match.offset + 4096 + patch.behind_offset, patch.behind.data(), patch.behind.size());
    }
    const SpoiltJit copy(file);
    EXPECT_EXIT(start_hook(copy.path()), testing::ExitedWithCode(1), "^error FH0007: .* 2 times instead of once.*10\\.0\\.12 or 9\\.0\\.22") << patch.name;
  }
}

TEST(Hook, StopsWhenTheLibraryIsMissing) {
  EXPECT_EXIT(start_hook("/nowhere/libclrjit.so"), testing::ExitedWithCode(1),
              "^error FH0007: the JIT '/nowhere/libclrjit.so' cannot be loaded: .*10\\.0\\.12 or 9\\.0\\.22.*FREEHOLD_JIT");
}

TEST(Hook, StopsWhenTheLibraryIsNoJit) { EXPECT_EXIT(start_hook("libm.so.6"), testing::ExitedWithCode(1), "^error FH0007: .* does not contain"); }

TEST(Hook, LooksForTheJitBesideTheExecutable) {
  // No override: beside this test program there is no JIT, so the message names the file it expected there.
  unsetenv("FREEHOLD_JIT");
  char executable[4096] = {};
  ASSERT_GT(readlink("/proc/self/exe", executable, sizeof executable - 1), 0);
  const std::string folder(executable, std::strrchr(executable, '/') + 1);
  EXPECT_EQ(jit_path(), folder + "libclrjit_unix_x64_x64.so");
  setenv("FREEHOLD_JIT", "", 1);
  EXPECT_EQ(jit_path(), folder + "libclrjit_unix_x64_x64.so") << "an empty variable is no override";
  setenv("FREEHOLD_JIT", "/some/where.so", 1);
  EXPECT_EQ(jit_path(), "/some/where.so");
  unsetenv("FREEHOLD_JIT");
}

TEST(Hook, ExportsWhatAJitExportsUnderItsVersion) {
  void* hook = dlopen(FREEHOLD_JIT_HOOK, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(hook, nullptr) << dlerror();
  for (const char* name : {"jitStartup", "getJit", "getLikelyClasses", "getLikelyMethods"}) {
    EXPECT_NE(dlvsym(hook, name, "V1.0"), nullptr) << name;
  }
  dlclose(hook);
}

}  // namespace
}  // namespace freehold::jit
