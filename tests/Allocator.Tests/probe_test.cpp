// The recoverable accesses: each succeeds on mapped memory and reports a page that is gone, from any thread.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <ucontext.h>
#include <csignal>
#include <thread>
#include <vector>

#include "core/fault_recovery.h"

namespace {

using namespace freehold::core;

class Probe : public testing::Test {
 protected:
  static constexpr size_t kPage = 4096;

  static void recover(int, siginfo_t*, void* context) {
    greg_t* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    uintptr_t recovery = find_recovery(static_cast<uintptr_t>(registers[REG_RIP]));
    if (recovery == 0) _exit(99);
    registers[REG_RIP] = static_cast<greg_t>(recovery);
  }

  void SetUp() override {
    struct sigaction action = {};
    action.sa_sigaction = recover;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &action, &previous_);
    pages_ = static_cast<uint8_t*>(mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(pages_, MAP_FAILED);
    ASSERT_EQ(mprotect(pages_ + kPage, kPage, PROT_NONE), 0);
  }
  void TearDown() override {
    munmap(pages_, 2 * kPage);
    sigaction(SIGSEGV, &previous_, nullptr);
  }

  uint32_t* mapped32() { return reinterpret_cast<uint32_t*>(pages_ + 64); }
  uint32_t* gone32() { return reinterpret_cast<uint32_t*>(pages_ + kPage + 64); }
  uint64_t* mapped64() { return reinterpret_cast<uint64_t*>(pages_ + 128); }
  uint64_t* gone64() { return reinterpret_cast<uint64_t*>(pages_ + kPage); }

  uint8_t* pages_ = nullptr;
  struct sigaction previous_ = {};
};

TEST_F(Probe, LoadsWhatIsThere) {
  *mapped32() = 0xdeadbeef;
  *mapped64() = 0x0123456789abcdef;
  uint32_t small = 0;
  uint64_t large = 0;
  EXPECT_TRUE(try_load(mapped32(), &small));
  EXPECT_EQ(small, 0xdeadbeef);
  EXPECT_TRUE(try_load(mapped64(), &large));
  EXPECT_EQ(large, 0x0123456789abcdefu);
}

TEST_F(Probe, ReportsPagesThatAreGone) {
  uint32_t small = 5;
  uint64_t large = 6;
  bool swapped = false;
  EXPECT_FALSE(try_load(gone32(), &small));
  EXPECT_FALSE(try_load(gone64(), &large));
  EXPECT_FALSE(try_store(gone32(), 1));
  EXPECT_FALSE(try_compare_and_swap(gone32(), 0, 1, &swapped));
  EXPECT_EQ(small, 5u);
  EXPECT_EQ(large, 6u);
  EXPECT_FALSE(swapped);
  // A word that begins on a mapped page and ends on one that is gone.
  EXPECT_FALSE(try_load(reinterpret_cast<uint64_t*>(pages_ + kPage - 4), &large));
}

TEST_F(Probe, SwapsOnlyWhatWasExpected) {
  bool swapped = false;
  *mapped32() = 7;
  EXPECT_TRUE(try_compare_and_swap(mapped32(), 8, 9, &swapped));
  EXPECT_FALSE(swapped);
  EXPECT_TRUE(try_compare_and_swap(mapped32(), 7, 9, &swapped));
  EXPECT_TRUE(swapped);
  EXPECT_EQ(*mapped32(), 9u);
  EXPECT_TRUE(try_store(mapped32(), 10));
  EXPECT_EQ(*mapped32(), 10u);
}

TEST_F(Probe, WorksOnManyThreadsAtOnce) {
  std::vector<std::thread> threads;
  std::vector<int> reported(8);
  for (int t = 0; t < 8; t++) {
    threads.emplace_back([this, t, &reported] {
      for (int i = 0; i < 2000; i++) {
        uint64_t value;
        if (!try_load(i % 2 == 0 ? gone64() : mapped64(), &value)) reported[t]++;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (int count : reported) EXPECT_EQ(count, 1000);
}

TEST(FaultRecovery, KnowsOnlyItsOwnInstructions) {
  EXPECT_EQ(find_recovery(0), 0u);
  EXPECT_EQ(find_recovery(reinterpret_cast<uintptr_t>(&find_recovery)), 0u);
}

}  // namespace
