// src/Platform: settings, failures that a test asks for, mappings, futexes.
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string>
#include <thread>

#include "Platform/failures.h"
#include "Platform/fair_lock.h"
#include "Platform/files.h"
#include "Platform/futex.h"
#include "Platform/lock.h"
#include "Platform/memory.h"
#include "Platform/settings.h"
#include "Platform/time.h"

namespace freehold {
namespace {

TEST(PlatformSettings, NumbersEndWhereTheDigitsDo) {
  uint64_t value;
  std::string text = "18446744073709551615+";
  EXPECT_EQ(settings::parse_digits(text.c_str(), &value), text.c_str() + 20);
  EXPECT_EQ(value, UINT64_MAX);
  for (const char* bad : {"", "x", "-1", "+1", " 1", "18446744073709551616", "99999999999999999999"})
    EXPECT_EQ(settings::parse_digits(bad, &value), nullptr) << bad;
  EXPECT_TRUE(settings::parse_number("0", &value));
  EXPECT_FALSE(settings::parse_count("0", &value));
  EXPECT_FALSE(settings::parse_number("1 ", &value));
}

TEST(PlatformSettings, Sizes) {
  uint64_t bytes;
  for (auto [text, expected] : {std::pair{"7", uint64_t{7}}, {"3k", 3 << 10}, {"3K", 3 << 10}, {"5m", 5 << 20}, {"1G", 1 << 30}, {"2t", uint64_t{2} << 40}}) {
    EXPECT_TRUE(settings::parse_size(text, &bytes)) << text;
    EXPECT_EQ(bytes, expected) << text;
  }
  for (const char* bad : {"", "0", "K", "1KB", "1Q", "-1", "16777216T", "18446744073709551616"}) EXPECT_FALSE(settings::parse_size(bad, &bytes)) << bad;
  EXPECT_TRUE(settings::parse_size("16777215T", &bytes));
  EXPECT_TRUE(settings::parse_limit("none", &bytes));
  EXPECT_EQ(bytes, settings::kNoLimit);
  EXPECT_TRUE(settings::parse_limit("3k", &bytes));
  EXPECT_EQ(bytes, uint64_t{3 << 10});
  for (const char* bad : {"", "0", "non", "nones", "None"}) EXPECT_FALSE(settings::parse_limit(bad, &bytes)) << bad;
}

// A prefix of a known name is another name, and so is one that goes on; the second half's are passed over, with their own names only.
TEST(PlatformSettings, NamesAreWhole) {
  static bool value;
  static constexpr settings::Setting kRows[] = {{"X_ONE", "", "0 or 1", [](const char* text) noexcept { return settings::parse_switch(text, &value); }}};
  static constexpr const char* kOthers[] = {"X_OTHER", nullptr};
  const settings::Table table = {"X_", kOthers, kRows, 1};
  auto read = [&](const char* setting) {
    const char* environment[] = {setting, nullptr};
    char error[256];
    return table.read(environment, nullptr, error, sizeof error);
  };
  EXPECT_TRUE(read("X_ONE=1"));
  EXPECT_TRUE(value);
  for (const char* good : {"X_ONE=", "X_ONE", "X_OTHER=7", "X_OTHER_THING=7", "Y_ONE=7", "X"}) EXPECT_TRUE(read(good)) << good;
  for (const char* bad : {"X_ON=1", "X_ONES=1", "X_=1", "X_OTHERS=7", "X_ONE=2"}) EXPECT_FALSE(read(bad)) << bad;
  EXPECT_TRUE(table.read(nullptr, nullptr, nullptr, 0)) << "no environment yet";
}

enum class Call : uint8_t { kOpen, kOpenAll, kCount };
constexpr const char* kNames[] = {"open", "openall"};

TEST(PlatformFailures, TheNthFailsOrAllFromThere) {
  os::Failures<Call> failures(kNames);
  for (int i = 0; i < 3; i++) EXPECT_FALSE(failures.fails(Call::kOpen));
  EXPECT_EQ(failures.count(Call::kOpen), 3u);
  ASSERT_TRUE(failures.inject("open:2,openall:3+"));
  EXPECT_EQ(failures.count(Call::kOpen), 0u) << "counted from the request on";
  std::string one, all;
  for (int i = 0; i < 5; i++) {
    one += failures.fails(Call::kOpen) ? 'x' : '.';
    all += failures.fails(Call::kOpenAll) ? 'x' : '.';
  }
  EXPECT_EQ(one, ".x...");
  EXPECT_EQ(all, "..xxx");
  failures.clear();
  EXPECT_FALSE(failures.fails(Call::kOpenAll));
  for (const char* bad : {"open", "open:", "open:0", "open:x", "none:1", ":1", "open:1x", "open:1++", "ope:1", "open:-1", "open:18446744073709551616"})
    EXPECT_FALSE(failures.inject(bad)) << bad;
}

TEST(PlatformMemory, NeverOverAnotherMapping) {
  void* made = os::map_private(nullptr, 2 * os::kPageSize, PROT_READ | PROT_WRITE);
  ASSERT_NE(made, nullptr);
  int reason = 0;
  errno = 7;
  EXPECT_EQ(os::map_private_at(reinterpret_cast<uintptr_t>(made) + os::kPageSize, os::kPageSize, PROT_READ, &reason), nullptr);
  EXPECT_EQ(reason, EEXIST);
  os::unmap(static_cast<char*>(made) + os::kPageSize, os::kPageSize);
  EXPECT_EQ(os::map_private_at(reinterpret_cast<uintptr_t>(made) + os::kPageSize, os::kPageSize, PROT_READ, &reason), static_cast<char*>(made) + os::kPageSize);
  EXPECT_EQ(os::map(nullptr, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS), nullptr);
  EXPECT_FALSE(os::protect(reinterpret_cast<void*>(1), os::kPageSize, PROT_READ));
  EXPECT_EQ(errno, 7) << "errno stays";
  os::unmap(made, 2 * os::kPageSize);
}

TEST(PlatformFutex, WaitsUntilWokenChangedOrLate) {
  std::atomic<uint32_t> word{0};
  EXPECT_TRUE(os::wait_on(word, 1)) << "another value: at once";
  timespec soon = {0, 2'000'000};
  uint64_t before = os::nanoseconds();
  EXPECT_FALSE(os::wait_on(word, 0, &soon));
  EXPECT_GE(os::nanoseconds() - before, 2'000'000u);
  std::thread other([&] {
    while (word.load() == 0) os::wait_on(word, 0);
  });
  word.store(1);
  os::wake_all(word);
  other.join();
}

TEST(PlatformLock, ExcludesOthers) {
  os::Lock lock;
  uint64_t counter = 0;
  std::thread threads[4];
  for (std::thread& thread : threads) {
    thread = std::thread([&] {
      for (int i = 0; i < 20'000; i++) {
        os::LockGuard guard(lock);
        counter++;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter, 80'000u);
  EXPECT_TRUE(lock.try_lock());
  EXPECT_FALSE(lock.try_lock());
  lock.unlock();
}

TEST(PlatformFairLock, ExcludesOthers) {
  os::FairLock lock;
  uint64_t counter = 0;
  std::thread threads[4];
  for (std::thread& thread : threads) {
    thread = std::thread([&] {
      for (int i = 0; i < 5'000; i++) {
        os::LockGuard guard(lock);
        counter++;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter, 20'000u);
  EXPECT_TRUE(lock.try_lock());
  EXPECT_FALSE(lock.try_lock());
  lock.unlock();
}

// Who gives it back and takes it again at once comes behind those that wait. With os::Lock, the thread that is awake gets it.
TEST(PlatformFairLock, ComesInTheOrderOfAsking) {
  os::FairLock lock;
  for (int round = 0; round < 200; round++) {
    lock.lock();
    std::atomic<int> turns{0};
    std::thread other([&] {
      os::LockGuard guard(lock);
      turns++;
    });
    while (!lock.is_wanted()) std::this_thread::yield();
    EXPECT_EQ(turns.load(), 0);
    lock.unlock();
    lock.lock();
    EXPECT_EQ(turns.load(), 1);
    lock.unlock();
    other.join();
  }
}

TEST(PlatformFairLock, ForgetsThoseThatAreNotInTheChild) {
  os::FairLock lock;
  lock.lock();
  std::thread other([&] { os::LockGuard guard(lock); });
  while (!lock.is_wanted()) std::this_thread::yield();
  pid_t child = fork();
  if (child == 0) {
    alarm(60);
    lock.forget();
    lock.lock();
    lock.unlock();
    lock.lock();
    _exit(lock.try_lock() ? 1 : 0);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  lock.unlock();
  other.join();
}

TEST(PlatformFiles, AreCutToFit) {
  char text[8];
  EXPECT_EQ(os::read_file("/proc/self/maps", text, sizeof text), 7);
  EXPECT_EQ(text[7], 0);
  EXPECT_LT(os::read_file("/proc/none", text, sizeof text), 0);
  EXPECT_EQ(text[0], 0);
  EXPECT_GT(os::maximal_mappings(), 1000u);
}

}  // namespace
}  // namespace freehold
