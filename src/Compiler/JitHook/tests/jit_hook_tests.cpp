// Tests of the JIT hook: the search over made-up buffers, the official JIT, and JITs spoilt on purpose.
// The official JIT is taken from FREEHOLD_TEST_JIT or from the NuGet cache; without it the tests fail, they do not skip.
#include "patch.h"
#include "pattern.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace freehold::jit {
namespace {

using Bytes = std::vector<std::uint8_t>;

void put(Bytes& buffer, std::size_t at) { std::memcpy(buffer.data() + at, kPattern.data(), kPattern.size()); }

std::string official_jit() {
    if (const char* given = std::getenv("FREEHOLD_TEST_JIT")) {
        return given;
    }
    const char* packages = std::getenv("NUGET_PACKAGES");
    const char* home = std::getenv("HOME");
    const std::string root = packages != nullptr ? packages : std::string(home != nullptr ? home : "") + "/.nuget/packages";
    return root + "/runtime.linux-x64.microsoft.dotnet.ilcompiler/9.0.22/tools/libclrjit_unix_x64_x64.so";
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
        if (std::sscanf(line.c_str(), "%lx-%lx %4s", &start, &end, protection) == 3 &&
            reinterpret_cast<unsigned long>(address) >= start && reinterpret_cast<unsigned long>(address) < end) {
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

TEST(Pattern, EmptyAndShortBuffersHoldNothing) {
    EXPECT_EQ(find_pattern({}).count, 0u);
    const Bytes almost(kPattern.begin(), kPattern.end() - 1);
    EXPECT_EQ(find_pattern(almost).count, 0u);
}

TEST(Pattern, AbsentWhenAnyByteDiffers) {
    for (std::size_t i = 0; i < kPattern.size(); ++i) {
        Bytes buffer(64, 0xcc);
        put(buffer, 20);
        buffer[20 + i] ^= 0x01;
        EXPECT_EQ(find_pattern(buffer).count, 0u) << "byte " << i;
    }
}

TEST(Pattern, FoundOnceAtEveryOffset) {
    for (std::size_t at = 0; at <= 100 - kPattern.size(); ++at) {
        Bytes buffer(100, 0x80);  // the pattern's first byte everywhere: each is a false start
        put(buffer, at);
        const PatternMatch match = find_pattern(buffer);
        EXPECT_EQ(match.count, 1u) << "at " << at;
        EXPECT_EQ(match.offset, at);
    }
}

TEST(Pattern, ExactlyTheBuffer) {
    const Bytes buffer(kPattern.begin(), kPattern.end());
    const PatternMatch match = find_pattern(buffer);
    EXPECT_EQ(match.count, 1u);
    EXPECT_EQ(match.offset, 0u);
}

TEST(Pattern, CutOffAtTheEndIsAbsent) {
    Bytes buffer(100, 0);
    std::memcpy(buffer.data() + 100 - kPattern.size() + 1, kPattern.data(), kPattern.size() - 1);
    EXPECT_EQ(find_pattern(buffer).count, 0u);
}

TEST(Pattern, CountsEveryOccurrence) {
    Bytes buffer(200, 0);
    put(buffer, 0);
    put(buffer, kPattern.size());  // back to back
    put(buffer, 200 - kPattern.size());
    const PatternMatch match = find_pattern(buffer);
    EXPECT_EQ(match.count, 3u);
    EXPECT_EQ(match.offset, 0u);
}

TEST(Patch, OfficialJitLosesItsJumpAndNothingElse) {
    const std::string path = official_jit();
    void* plain = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(plain, nullptr) << path << " is needed: restore a project that publishes with ILCompiler 9.0.22";
    dlclose(plain);

    const Bytes file = read_file(path);
    const PatternMatch match = find_pattern(file);
    ASSERT_EQ(match.count, 1u);

    const LoadedJit jit = load_and_patch(path.c_str());
    ASSERT_EQ(jit.status, LoadStatus::ok) << jit.detail;
    EXPECT_EQ(0, std::memcmp(jit.jump, kNops.data(), kNops.size()));
    EXPECT_EQ(0, std::memcmp(jit.jump - kJumpOffset, kPattern.data(), kJumpOffset));
    EXPECT_EQ(0, std::memcmp(jit.jump + 2, kPattern.data() + kJumpOffset + 2, kPattern.size() - kJumpOffset - 2));
    EXPECT_EQ(protection_of(jit.jump), "r-xp");
    EXPECT_EQ(read_file(path), file) << "the file on disk must stay as it is";
    EXPECT_NE(jit.startup, nullptr);
    EXPECT_NE(jit.get_jit, nullptr);
    EXPECT_EQ(describe_failure(jit, path), "");

    // The copy in this process is patched now: a second patch must see that, not pretend.
    EXPECT_EQ(load_and_patch(path.c_str()).status, LoadStatus::pattern_absent);
    dlclose(jit.library);
}

TEST(Patch, PatternAcrossAPageBoundaryIsChangedAndProtectedAgain) {
    // Move the pattern so that the jump's two bytes lie on two pages of the loaded image.
    Bytes file = read_file(official_jit());
    const PatternMatch match = find_pattern(file);
    ASSERT_EQ(match.count, 1u);
    std::memset(file.data() + match.offset, 0xcc, kPattern.size());
    const std::size_t boundary = (match.offset + 0x1fff) & ~std::size_t{0xfff};
    put(file, boundary - kJumpOffset - 1);
    const SpoiltJit copy(file);
    const LoadedJit jit = load_and_patch(copy.path().c_str());
    ASSERT_EQ(jit.status, LoadStatus::ok) << jit.detail;
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(jit.jump) & 0xfff, 0xfffu);
    EXPECT_EQ(jit.jump[0], 0x90);
    EXPECT_EQ(jit.jump[1], 0x90);
    EXPECT_EQ(protection_of(jit.jump), "r-xp");
    EXPECT_EQ(protection_of(jit.jump + 1), "r-xp");
    dlclose(jit.library);
}

TEST(Hook, StopsWhenTheLibraryIsMissing) {
    EXPECT_EXIT(start_hook("/nowhere/libclrjit.so"), testing::ExitedWithCode(1),
                "^error FH0007: the JIT '/nowhere/libclrjit.so' cannot be loaded: .*9\\.0\\.22.*FREEHOLD_JIT");
}

TEST(Hook, StopsWhenThePatternIsAbsent) {
    Bytes file = read_file(official_jit());
    const PatternMatch match = find_pattern(file);
    ASSERT_EQ(match.count, 1u);
    file[match.offset + kJumpOffset + 1] = 0x0f;
    const SpoiltJit copy(file);
    EXPECT_EXIT(start_hook(copy.path()), testing::ExitedWithCode(1), "^error FH0007: .* does not contain .*9\\.0\\.22");
}

TEST(Hook, StopsWhenThePatternIsNotUnique) {
    Bytes file = read_file(official_jit());
    const PatternMatch match = find_pattern(file);
    ASSERT_EQ(match.count, 1u);
    put(file, match.offset + 4096);
    const SpoiltJit copy(file);
    EXPECT_EXIT(start_hook(copy.path()), testing::ExitedWithCode(1), "^error FH0007: .* 2 times instead of once.*9\\.0\\.22");
}

TEST(Hook, StopsWhenTheLibraryIsNoJit) {
    EXPECT_EXIT(start_hook("libm.so.6"), testing::ExitedWithCode(1), "^error FH0007: .* does not contain");
}

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
