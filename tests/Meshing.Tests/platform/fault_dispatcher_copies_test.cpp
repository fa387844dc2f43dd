// src/Platform: the dispatchers of two libraries in one process, of which the later one's handler lies over the earlier one's.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <string>

#include "Platform/fault_dispatcher.h"

namespace freehold::os {
namespace {

constexpr size_t kPage = 4096;
char* page;
std::string order;

bool open_page(int, siginfo_t*, ucontext_t*) noexcept { return order += 'o', mprotect(page, kPage, PROT_READ | PROT_WRITE) == 0; }
void foreign(int, siginfo_t*, void*) noexcept {
  order += 'f';
  mprotect(page, kPage, PROT_READ | PROT_WRITE);
}

class FaultDispatcherCopiesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    order.clear();
    struct sigaction standard = {};
    ASSERT_EQ(sigaction(SIGSEGV, &standard, &original_), 0);
    page = static_cast<char*>(mmap(nullptr, kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(page, MAP_FAILED);
    void* library = dlopen(FREEHOLD_PLATFORM_COPY, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    dispatch_by_copy_ = reinterpret_cast<bool (*)()>(dlsym(library, "dispatch_by_copy"));
    dispatch_no_more_ = reinterpret_cast<void (*)()>(dlsym(library, "dispatch_no_more"));
    exchange_by_copy_ = reinterpret_cast<bool (*)(const struct sigaction*, struct sigaction*)>(dlsym(library, "exchange_by_copy"));
    owner_ = {fault_bit(SIGSEGV), open_page, reinterpret_cast<uintptr_t>(page), kPage};
    foreign_.sa_sigaction = foreign;
    foreign_.sa_flags = SA_SIGINFO;
  }
  void TearDown() override {
    dispatch_no_more_();
    remove_fault_owner(owner_);
    sigaction(SIGSEGV, &original_, nullptr);
    munmap(page, kPage);
  }

  FaultOwner owner_ = {};
  struct sigaction foreign_ = {};
  bool (*dispatch_by_copy_)() = nullptr;
  void (*dispatch_no_more_)() = nullptr;
  bool (*exchange_by_copy_)(const struct sigaction*, struct sigaction*) = nullptr;

 private:
  struct sigaction original_ = {};
};

// The meshing malloc of a .NET program must not take a library of handles for a program that has taken the signal.
TEST_F(FaultDispatcherCopiesTest, FaultsComeThroughAnotherCopysHandler) {
  ASSERT_TRUE(add_fault_owner(owner_, FaultStack::kAlternate));
  ASSERT_TRUE(dispatch_by_copy_());
  EXPECT_TRUE(receives_faults(SIGSEGV));
  *page = 1;
  EXPECT_EQ(order, "o");
}

TEST_F(FaultDispatcherCopiesTest, AForeignHandlerMayKeepThem) {
  ASSERT_TRUE(add_fault_owner(owner_, FaultStack::kAlternate));
  struct sigaction ours;
  ASSERT_EQ(sigaction(SIGSEGV, &foreign_, &ours), 0);
  EXPECT_FALSE(receives_faults(SIGSEGV));
  ASSERT_TRUE(dispatch_by_copy_());
  EXPECT_FALSE(receives_faults(SIGSEGV)) << "the foreign one is between the two";
  dispatch_no_more_();
  sigaction(SIGSEGV, &ours, nullptr);
  EXPECT_TRUE(receives_faults(SIGSEGV));
}

// A program's own handler, which the library of handles puts below ours: below all of ours.
TEST_F(FaultDispatcherCopiesTest, AProgramsHandlerComesAfterAllCopies) {
  ASSERT_TRUE(add_fault_owner(owner_, FaultStack::kAlternate));
  ASSERT_TRUE(dispatch_by_copy_());
  struct sigaction before;
  ASSERT_TRUE(exchange_by_copy_(&foreign_, &before));
  EXPECT_EQ(before.sa_handler, SIG_DFL);
  EXPECT_TRUE(receives_faults(SIGSEGV));
  *page = 1;
  EXPECT_EQ(order, "o");
  mprotect(page, kPage, PROT_READ);
  owner_.start = 0x1000;
  *page = 2;
  EXPECT_EQ(order, "of");
  ASSERT_TRUE(exchange_by_copy_(nullptr, &before));
  EXPECT_EQ(before.sa_sigaction, foreign);
}

}  // namespace
}  // namespace freehold::os
