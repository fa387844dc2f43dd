// src/Platform: who is asked about a fault, and who gets it in the end. Handlers are state of the process, so each case is one of its own.
#include "Platform/fault_dispatcher.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

namespace freehold::os {
namespace {

std::string order;  // who was asked or called
char* page;         // readable only
bool nested_fault;

void open_page() { mprotect(page, 4096, PROT_READ | PROT_WRITE); }
bool decline(int, siginfo_t*, ucontext_t*) noexcept { return order += 'd', errno = 7, false; }
bool decline_too(int, siginfo_t*, ucontext_t*) noexcept { return order += 'e', false; }
bool take(int, siginfo_t*, ucontext_t*) noexcept { return order += 't', open_page(), errno = 7, true; }
bool take_range(int, siginfo_t* information, ucontext_t*) noexcept {
  order += 'r';
  if (nested_fault) {
    // Another fault in the answer, which the same owner answers.
    nested_fault = false;
    *static_cast<volatile char*>(information->si_addr) = 1;
  }
  open_page();
  return true;
}

class FaultDispatcherTest : public ::testing::Test {
 protected:
  void SetUp() override {
    // A sanitizer has one of its own.
    struct sigaction standard = {};
    ASSERT_EQ(sigaction(SIGSEGV, &standard, &original_), 0);
    order.clear();
    page = static_cast<char*>(mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(page, MAP_FAILED);
  }
  void TearDown() override {
    for (const FaultOwner* owner : {&declines_, &declines_too_, &takes_, &range_, &other_range_}) remove_fault_owner(*owner);
    munmap(page, 4096);
    struct sigaction now;
    sigaction(SIGSEGV, nullptr, &now);
    EXPECT_EQ(now.sa_handler, SIG_DFL) << "what was there before is there again";
    sigaction(SIGSEGV, &original_, nullptr);
  }
  void add(FaultOwner& owner, bool (*answer)(int, siginfo_t*, ucontext_t*) noexcept, void* start = nullptr, size_t size = 0) {
    owner = {fault_bit(SIGSEGV), answer, reinterpret_cast<uintptr_t>(start), size};
    ASSERT_TRUE(add_fault_owner(owner, FaultStack::kAlternate));
  }
  void write() { *static_cast<volatile char*>(page + 100) = 1; }

  struct sigaction original_;
  FaultOwner declines_, declines_too_, takes_, range_, other_range_;
};

TEST_F(FaultDispatcherTest, OwnersOfAnyAddressAreAskedInOrder) {
  add(declines_, decline);
  add(declines_too_, decline_too);
  add(takes_, take);
  errno = 3;
  write();
  EXPECT_EQ(errno, 3);
  EXPECT_EQ(order, "det");
}

TEST_F(FaultDispatcherTest, TheOwnerOfTheRangeIsAskedFirstAndOthersNotAtAll) {
  add(takes_, take);
  add(other_range_, decline, page + 4096, 4096);
  add(range_, take_range, page, 4096);
  write();
  EXPECT_EQ(order, "r");
}

TEST_F(FaultDispatcherTest, AnAnswerMayFaultItself) {
  nested_fault = true;
  add(range_, take_range, page, 4096);
  write();
  EXPECT_EQ(order, "rr");
}

sigset_t mask_seen;
char alternate_stack[64 << 10];
bool on_alternate_stack;
void foreign(int, siginfo_t*, void*) {
  char here;
  on_alternate_stack = &here >= alternate_stack && &here < alternate_stack + sizeof alternate_stack;
  pthread_sigmask(SIG_BLOCK, nullptr, &mask_seen);
  order += 'f';
  open_page();
}
void foreign_simple(int) {
  order += 's';
  open_page();
}
void set_foreign(void (*handler)(int, siginfo_t*, void*), int flags, struct sigaction* before) {
  struct sigaction action = {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | flags;
  sigaddset(&action.sa_mask, SIGUSR1);
  ASSERT_EQ(sigaction(SIGSEGV, &action, before), 0);
}

TEST_F(FaultDispatcherTest, WhatNobodyOwnsGoesToTheHandlerThatWasThereOnItsStackWithItsMask) {
  stack_t stack = {}, none = {};
  stack.ss_sp = alternate_stack;
  stack.ss_size = sizeof alternate_stack;
  ASSERT_EQ(sigaltstack(&stack, &none), 0);
  for (bool alternate : {false, true}) {
    order.clear();
    mprotect(page, 4096, PROT_READ);
    set_foreign(foreign, alternate ? SA_ONSTACK : SA_NODEFER, nullptr);
    declines_ = {fault_bit(SIGSEGV), decline, 0, 0};
    ASSERT_TRUE(add_fault_owner(declines_, FaultStack::kAsBefore));
    write();
    EXPECT_EQ(order, "df");
    EXPECT_EQ(on_alternate_stack, alternate);
    EXPECT_EQ(sigismember(&mask_seen, SIGUSR1), 1);
    EXPECT_EQ(sigismember(&mask_seen, SIGSEGV), alternate ? 1 : 0);
    sigset_t now;
    pthread_sigmask(SIG_BLOCK, nullptr, &now);
    EXPECT_EQ(sigismember(&now, SIGUSR1), 0);
    remove_fault_owner(declines_);
  }
  struct sigaction standard = {};
  sigaction(SIGSEGV, &standard, nullptr);
  sigaltstack(&none, nullptr);
}

struct sigaction before_chaining;
void chaining(int signal, siginfo_t* information, void* context) {
  order += 'c';
  before_chaining.sa_sigaction(signal, information, context);
}

// As the .NET runtime does: its handler comes over the dispatcher, calls what it found, and then the dispatcher comes over it.
TEST_F(FaultDispatcherTest, AHandlerBetweenTwoInstallationsIsCalledOnceAndOwnersAreAskedOnce) {
  set_foreign(foreign, 0, nullptr);
  add(declines_, decline);
  set_foreign(chaining, 0, &before_chaining);
  EXPECT_FALSE(receives_faults(SIGSEGV));
  add(declines_too_, decline_too);
  EXPECT_TRUE(receives_faults(SIGSEGV));
  write();
  EXPECT_EQ(order, "decf");
  mprotect(page, 4096, PROT_READ);
  write();
  EXPECT_EQ(order, "decfdecf");
  remove_fault_owner(declines_too_);
  remove_fault_owner(declines_);
  // The one in between is on top again, as it was.
  struct sigaction now = {}, standard = {};
  sigaction(SIGSEGV, nullptr, &now);
  EXPECT_EQ(now.sa_sigaction, chaining);
  sigaction(SIGSEGV, &standard, nullptr);
}

TEST_F(FaultDispatcherTest, AHandlerForOneUseIsUsedOnce) {
  struct sigaction action = {};
  action.sa_handler = foreign_simple;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  ASSERT_EQ(sigaction(SIGSEGV, &action, nullptr), 0);
  add(declines_, decline);
  write();
  EXPECT_EQ(order, "ds");
  struct sigaction before;
  ASSERT_TRUE(exchange_foreign_handler(SIGSEGV, nullptr, &before));
  EXPECT_EQ(before.sa_handler, SIG_DFL);
}

TEST_F(FaultDispatcherTest, AHandlerMayBeExchangedBehindIt) {
  add(declines_, decline);
  struct sigaction action = {}, before;
  action.sa_handler = foreign_simple;
  ASSERT_TRUE(exchange_foreign_handler(SIGSEGV, &action, &before));
  EXPECT_EQ(before.sa_handler, SIG_DFL);
  EXPECT_FALSE(exchange_foreign_handler(SIGUSR1, &action, nullptr));
  write();
  EXPECT_EQ(order, "ds");
  EXPECT_TRUE(receives_faults(SIGSEGV));
  action.sa_handler = SIG_DFL;
  exchange_foreign_handler(SIGSEGV, &action, nullptr);
}

TEST_F(FaultDispatcherTest, SignalsThatAreSentAskNobody) {
  struct sigaction action = {};
  action.sa_handler = SIG_IGN;
  ASSERT_EQ(sigaction(SIGSEGV, &action, nullptr), 0);
  add(takes_, take);
  raise(SIGSEGV);
  EXPECT_EQ(order, "");
  action.sa_handler = SIG_DFL;
  exchange_foreign_handler(SIGSEGV, &action, nullptr);
}

TEST_F(FaultDispatcherTest, WithoutAnybodyTheProcessEndsWithTheSignal) {
  EXPECT_EXIT(
      {
        add(declines_, decline);
        write();
      },
      ::testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(
      {
        add(takes_, take);
        raise(SIGSEGV);
      },
      ::testing::KilledBySignal(SIGSEGV), "");
}

sigjmp_buf back;
void jumping(int, siginfo_t*, void*) { siglongjmp(back, 1); }

// Leaves the dispatcher's note of what it has asked behind.
TEST_F(FaultDispatcherTest, AHandlerThatDoesNotReturnChangesNothingForLaterFaults) {
  set_foreign(jumping, 0, nullptr);
  add(declines_, decline);
  for (int i = 0; i < 3; i++) {
    if (sigsetjmp(back, 1) == 0) write();
  }
  EXPECT_EQ(order, "ddd");
  remove_fault_owner(declines_);
  struct sigaction standard = {};
  sigaction(SIGSEGV, &standard, nullptr);
}

}  // namespace
}  // namespace freehold::os
