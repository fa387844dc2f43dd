// src/Platform: the dispatcher at its limits: no room for another owner or installation, other signals than SIGSEGV, threads that fault while owners come and go, children of fork.
#include <gtest/gtest.h>
#include <pthread.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string>
#include <thread>
#include <vector>

#include "Platform/fault_dispatcher.h"

namespace freehold::os {
namespace {

constexpr int kFaults[] = {SIGSEGV, SIGBUS, SIGTRAP};
constexpr size_t kPage = 4096;

std::string order;
char* page;  // not writable until somebody opens it

void open_page() { mprotect(page, kPage, PROT_READ | PROT_WRITE); }
bool decline(int, siginfo_t*, ucontext_t*) noexcept { return false; }
bool take(int, siginfo_t*, ucontext_t*) noexcept { return order += 't', open_page(), true; }
bool note_trap(int signal, siginfo_t*, ucontext_t*) noexcept { return order += signal == SIGTRAP ? '3' : '?', true; }
bool note_bus(int signal, siginfo_t* information, ucontext_t*) noexcept {
  order += signal == SIGBUS ? 'b' : '?';
  // The file has the page now.
  return mmap(reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(information->si_addr) & ~(kPage - 1)), kPage, PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
}

// What is there before and after: nothing, whatever a sanitizer has.
class FaultDispatcherLimitsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    order.clear();
    struct sigaction standard = {};
    for (size_t i = 0; i < std::size(kFaults); i++) ASSERT_EQ(sigaction(kFaults[i], &standard, &original_[i]), 0);
    page = static_cast<char*>(mmap(nullptr, kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(page, MAP_FAILED);
  }
  void TearDown() override {
    for (FaultOwner* owner : added_) remove_fault_owner(*owner);
    for (size_t i = 0; i < std::size(kFaults); i++) {
      struct sigaction now;
      sigaction(kFaults[i], nullptr, &now);
      EXPECT_EQ(now.sa_handler, SIG_DFL) << "of signal " << kFaults[i];
      sigaction(kFaults[i], &original_[i], nullptr);
    }
    munmap(page, kPage);
  }
  bool add(FaultOwner& owner, uint32_t signals, bool (*answer)(int, siginfo_t*, ucontext_t*) noexcept, void* start = nullptr, size_t size = 0) {
    owner = {signals, answer, reinterpret_cast<uintptr_t>(start), size};
    if (!add_fault_owner(owner, FaultStack::kAlternate)) return false;
    added_.push_back(&owner);
    return true;
  }
  void remove(FaultOwner& owner) {
    remove_fault_owner(owner);
    std::erase(added_, &owner);
  }
  static void write() { *static_cast<volatile char*>(page + 8) = 1; }

  // It outlives the test's body: the dispatcher has its address until the end of the test.
  FaultOwner& make() { return made_[next_++]; }

  FaultOwner made_[16];
  size_t next_ = 0;
  std::vector<FaultOwner*> added_;
  struct sigaction original_[std::size(kFaults)];
};

TEST_F(FaultDispatcherLimitsTest, AnOwnerTooManyIsRefusedAndTheOthersStay) {
  auto& owners = made_;
  size_t count = 0;
  while (count < std::size(owners) && add(owners[count], fault_bit(SIGSEGV), decline)) count++;
  ASSERT_GE(count, 4u);
  ASSERT_LT(count, std::size(owners)) << "there is no limit";
  // One goes, another one comes in its place.
  remove(owners[1]);
  EXPECT_TRUE(add(owners[count], fault_bit(SIGSEGV), take));
  write();
  EXPECT_EQ(order, "t");
  EXPECT_FALSE(add(owners[1], fault_bit(SIGSEGV), decline));
}

TEST_F(FaultDispatcherLimitsTest, AnOwnerThatIsAddedAgainIsAskedOnce) {
  FaultOwner &counts = make(), &owner = make();
  ASSERT_TRUE(add(counts, fault_bit(SIGSEGV), [](int, siginfo_t*, ucontext_t*) noexcept { return order += 'c', false; }));
  ASSERT_TRUE(add_fault_owner(counts, FaultStack::kAlternate));
  ASSERT_TRUE(add(owner, fault_bit(SIGSEGV), take));
  write();
  EXPECT_EQ(order, "ct");
}

struct sigaction before_foreign[8];
int foreign_depth;
void chain(int signal, siginfo_t* information, void* context) {
  order += 'f';
  struct sigaction& next = before_foreign[--foreign_depth];
  if ((next.sa_flags & SA_SIGINFO) != 0) next.sa_sigaction(signal, information, context);
}

// Others put themselves on top again and again, and each time it comes over them, until it has no handler left. Then it says so, and what is on top stays.
TEST_F(FaultDispatcherLimitsTest, WithoutAnotherHandlerItRefusesAndTheTopOneStays) {
  FaultOwner &first = make(), &again = make(), &answers = make();
  ASSERT_TRUE(add(first, fault_bit(SIGSEGV), decline));
  int levels = 1;
  for (; levels < 8; levels++) {
    struct sigaction action = {};
    action.sa_sigaction = chain;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    ASSERT_EQ(sigaction(SIGSEGV, &action, &before_foreign[levels - 1]), 0);
    again = {fault_bit(SIGSEGV), decline, 0, 0};
    if (!add_fault_owner(again, FaultStack::kAlternate)) break;
    remove_fault_owner(again);
  }
  ASSERT_GT(levels, 2);
  ASSERT_LT(levels, 8) << "there is no limit";
  EXPECT_FALSE(receives_faults(SIGSEGV));
  struct sigaction now;
  sigaction(SIGSEGV, nullptr, &now);
  EXPECT_EQ(now.sa_sigaction, chain);
  // The whole chain is gone through, and the owner is asked at the first level that is reached.
  first.answer = take;
  foreign_depth = levels;
  write();
  EXPECT_EQ(order, "ft");
  // A failed attempt leaves no owner behind.
  first.answer = decline;
  // Each removal of the last owner takes the level on top away.
  remove(first);
  for (int i = levels - 1; i >= 0; i--) {
    sigaction(SIGSEGV, &before_foreign[i], nullptr);
    answers = {fault_bit(SIGSEGV), decline, 0, 0};
    ASSERT_TRUE(add_fault_owner(answers, FaultStack::kAlternate));
    remove_fault_owner(answers);
  }
}

TEST_F(FaultDispatcherLimitsTest, EachSignalHasItsOwners) {
  FaultOwner &traps = make(), &buses = make(), &accesses = make();
  ASSERT_TRUE(add(traps, fault_bit(SIGTRAP), note_trap));
  EXPECT_FALSE(receives_faults(SIGSEGV));
  ASSERT_TRUE(add(buses, fault_bit(SIGBUS), note_bus));
  ASSERT_TRUE(add(accesses, fault_bit(SIGSEGV), take));
  for (int signal : kFaults) EXPECT_TRUE(receives_faults(signal));
  asm volatile("int3");
  write();
  // A page of a file behind its end.
  int file = memfd_create("short", 0);
  ASSERT_EQ(ftruncate(file, 1), 0);
  auto* mapped = static_cast<char*>(mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  ASSERT_NE(mapped, MAP_FAILED);
  *static_cast<volatile char*>(mapped + kPage) = 1;
  EXPECT_EQ(order, "3tb");
  munmap(mapped, 2 * kPage);
  close(file);
  // A signal that nobody needs any more goes back, the others stay.
  remove(traps);
  EXPECT_FALSE(receives_faults(SIGTRAP));
  EXPECT_TRUE(receives_faults(SIGSEGV));
  EXPECT_TRUE(receives_faults(SIGBUS));
}

TEST_F(FaultDispatcherLimitsTest, AnOwnerOfTwoSignalsKeepsBothUntilItGoes) {
  FaultOwner &both = make(), &one = make();
  ASSERT_TRUE(add(both, fault_bit(SIGSEGV) | fault_bit(SIGBUS), take));
  ASSERT_TRUE(add(one, fault_bit(SIGBUS), note_bus));
  remove(one);
  EXPECT_TRUE(receives_faults(SIGBUS));
  remove(both);
  EXPECT_FALSE(receives_faults(SIGBUS));
  EXPECT_FALSE(receives_faults(SIGSEGV));
}

void foreign_opens(int, siginfo_t*, void*) { open_page(); }

// A handler that came after it is not thrown out by an owner that goes.
TEST_F(FaultDispatcherLimitsTest, WhoCameAfterItStaysWhenTheLastOwnerGoes) {
  FaultOwner& owner = make();
  ASSERT_TRUE(add(owner, fault_bit(SIGSEGV), decline));
  struct sigaction action = {}, before, now;
  action.sa_sigaction = foreign_opens;
  action.sa_flags = SA_SIGINFO;
  ASSERT_EQ(sigaction(SIGSEGV, &action, &before), 0);
  remove(owner);
  sigaction(SIGSEGV, nullptr, &now);
  EXPECT_EQ(now.sa_sigaction, foreign_opens);
  write();
  // And then it goes when nobody is on top of it.
  sigaction(SIGSEGV, &before, nullptr);
  ASSERT_TRUE(add(owner, fault_bit(SIGSEGV), decline));
  remove(owner);
}

std::atomic<int> wrong;
thread_local char* own_page;
bool take_own(int, siginfo_t* information, ucontext_t*) noexcept {
  auto* at = reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(information->si_addr) & ~(kPage - 1));
  return at == own_page && mprotect(at, kPage, PROT_READ | PROT_WRITE) == 0;
}
void foreign_own(int, siginfo_t*, void*) { mprotect(own_page, kPage, PROT_READ | PROT_WRITE); }

// Faults of several threads, while owners come and go: each is answered, by an owner or by the handler that was there.
TEST_F(FaultDispatcherLimitsTest, ThreadsFaultWhileOwnersComeAndGo) {
  struct sigaction action = {};
  action.sa_sigaction = foreign_own;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  ASSERT_EQ(sigaction(SIGSEGV, &action, nullptr), 0);
  static FaultOwner always, owners[3];
  ASSERT_TRUE(add(always, fault_bit(SIGSEGV), decline));
  std::atomic<bool> stop{false};
  constexpr int kFaultsOfThread = 3000;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; t++) {
    threads.emplace_back([] {
      own_page = static_cast<char*>(mmap(nullptr, kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
      for (int i = 0; i < kFaultsOfThread; i++) {
        *static_cast<volatile char*>(own_page + 8) = static_cast<char>(i);
        if (own_page[8] != static_cast<char>(i)) wrong++;
        mprotect(own_page, kPage, PROT_READ);
      }
      munmap(own_page, kPage);
    });
  }
  // An owner may go only when no thread is in its answer: these have no state, so that nobody notices one who still is.
  for (FaultOwner& owner : owners) owner = {fault_bit(SIGSEGV), take_own, 0, 0};
  std::thread changes([&] {
    for (int i = 0; !stop; i++) {
      FaultOwner& owner = owners[i % 3];
      add_fault_owner(owner, FaultStack::kAlternate);
      if (i % 2 == 0) std::this_thread::yield();
      remove_fault_owner(owner);
    }
  });
  for (std::thread& thread : threads) thread.join();
  stop = true;
  changes.join();
  EXPECT_EQ(wrong, 0);
  remove(always);
  struct sigaction now, standard = {};
  sigaction(SIGSEGV, &standard, &now);
  EXPECT_EQ(now.sa_sigaction, foreign_own);
}

TEST_F(FaultDispatcherLimitsTest, AChildOfForkHasTheOwners) {
  FaultOwner& owner = make();
  ASSERT_TRUE(add(owner, fault_bit(SIGSEGV), take, page, kPage));
  pid_t child = fork();
  if (child == 0) {
    write();
    _exit(order == "t" ? 7 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 7) << status;
  write();
  EXPECT_EQ(order, "t");
}

// The handler that was there may fault itself, where an owner answers, before it goes on.
char* inner_page;
void foreign_faults(int, siginfo_t*, void*) {
  order += '(';
  *static_cast<volatile char*>(inner_page + 8) = 1;
  order += ')';
  open_page();
}
bool take_inner(int, siginfo_t*, ucontext_t*) noexcept { return order += 'i', mprotect(inner_page, kPage, PROT_READ | PROT_WRITE) == 0; }

TEST_F(FaultDispatcherLimitsTest, AFaultInTheForeignHandlerIsAnswered) {
  inner_page = static_cast<char*>(mmap(nullptr, kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  struct sigaction action = {}, standard = {};
  action.sa_sigaction = foreign_faults;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  ASSERT_EQ(sigaction(SIGSEGV, &action, nullptr), 0);
  FaultOwner& owner = make();
  ASSERT_TRUE(add(owner, fault_bit(SIGSEGV), take_inner, inner_page, kPage));
  for (int i = 0; i < 2; i++) {
    write();
    mprotect(page, kPage, PROT_READ);
    mprotect(inner_page, kPage, PROT_READ);
  }
  EXPECT_EQ(order, "(i)(i)");
  remove(owner);
  sigaction(SIGSEGV, &standard, nullptr);
  munmap(inner_page, kPage);
}

// As the kernel does it: what ignores a fault that the thread itself has caused ends the process.
TEST_F(FaultDispatcherLimitsTest, AFaultThatIsIgnoredEndsTheProcess) {
  struct sigaction ignored = {};
  ignored.sa_handler = SIG_IGN;
  ASSERT_EQ(sigaction(SIGSEGV, &ignored, nullptr), 0);
  FaultOwner& owner = make();
  ASSERT_TRUE(add(owner, fault_bit(SIGSEGV), decline));
  EXPECT_EXIT(write(), ::testing::KilledBySignal(SIGSEGV), "");
  remove(owner);
  struct sigaction standard = {};
  sigaction(SIGSEGV, &standard, nullptr);
}

}  // namespace
}  // namespace freehold::os
