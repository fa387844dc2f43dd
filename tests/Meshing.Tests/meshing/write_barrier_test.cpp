// Writers of all kinds while spans are meshed, under each barrier.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "mesh_fixture.h"

namespace freehold::mesh::testing {
namespace {

class WriteBarrierTest : public MeshTest, public ::testing::WithParamInterface<BarrierKind> {
 protected:
  void configure(Knobs& k) override { k.barrier = GetParam(); }
  void SetUp() override {
    MeshTest::SetUp();
    if (heap.barrier.kind() != GetParam()) {
      heap.barrier.close();
      GTEST_SKIP() << "the kernel refuses this barrier to this user";
    }
  }

  // Meshes and takes apart again until told to stop.
  static void churn(const std::atomic<bool>& stop, std::atomic<uint64_t>* meshed) {
    while (!stop.load()) {
      std::vector<uint64_t*> kept = sparse(256, 3000, 17);
      *meshed += heap.mesher.run(0, true);
      expect_intact(kept, 256);
      free_all(kept);
      if (HasFatalFailure()) break;
    }
    leave_heap();
  }
};

TEST_P(WriteBarrierTest, NoStoreIsLost) {
  std::atomic<bool> stop{false};
  std::vector<uint64_t*> kept = sparse(256, 8000, 16);
  std::atomic<uint64_t> meshed{0};
  std::thread mesher([&] { churn(stop, &meshed); });
  // Until the other thread has had its turn.
  for (uint64_t round = 1; round <= 2000 || (meshed == 0 && round < 1'000'000); round++) {
    for (uint64_t* object : kept) {
      for (int w = 0; w < 32; w += 8) object[w] = round * 64 + static_cast<uint64_t>(w);
    }
    for (uint64_t* object : kept) {
      for (int w = 0; w < 32; w += 8) ASSERT_EQ(object[w], round * 64 + static_cast<uint64_t>(w));
    }
  }
  stop = true;
  mesher.join();
  EXPECT_GT(meshed, 0u);
  free_all(kept);
}

uintptr_t here() { return reinterpret_cast<uintptr_t>(__builtin_frame_address(0)); }

// A system call that writes to spans that are meshed succeeds: where the kernel waits by itself, and elsewhere when it is announced.
TEST_P(WriteBarrierTest, SystemCallsSucceed) {
  std::atomic<bool> stop{false};
  std::vector<uint64_t*> kept = sparse(256, 8000, 16);
  std::atomic<uint64_t> meshed{0};
  std::thread mesher([&] { churn(stop, &meshed); });
  int zero = open("/dev/zero", O_RDONLY);
  uint64_t failed = 0;
  for (int round = 0; round < 200'000 || (meshed == 0 && round < 100'000'000); round++) {
    uint64_t* object = kept[static_cast<size_t>(round) % kept.size()];
    const void* address = object;
    if (heap.barrier.needs_announcements()) heap.barrier.announce(*own_heap(), &address, 1, here());
    object[3] = 1;
    failed += read(zero, object, 64) != 64;
    ASSERT_EQ(object[3], 0u);
    if (heap.barrier.needs_announcements()) WriteBarrier::retract(*own_heap(), 1);
  }
  EXPECT_EQ(failed, 0u);
  stop = true;
  mesher.join();
  EXPECT_GT(meshed, 0u);
  close(zero);
  free_all(kept);
}

TEST_P(WriteBarrierTest, AnAnnouncedSpanIsNotMeshed) {
  if (GetParam() == BarrierKind::kUserfaultfd) {
    EXPECT_FALSE(heap.barrier.needs_announcements());
    return;
  }
  std::vector<uint64_t*> kept = sparse(256, 4000, 16);
  std::vector<const void*> addresses(kept.begin(), kept.begin() + 40);
  heap.barrier.announce(*own_heap(), addresses.data(), 40, here());
  compact();
  for (int i = 0; i < 40; i++) {
    PageWord word = heap.arena.word(addresses[static_cast<size_t>(i)]);
    EXPECT_EQ(heap.global[word.index()].leader.load(), word.index()) << "its address still names its own pages";
  }
  WriteBarrier::retract(*own_heap(), 40);
  uint64_t meshes = heap.mesher.figures().meshes.load();
  compact();
  EXPECT_GT(heap.mesher.figures().meshes.load(), meshes);
  free_all(kept);
}

// siglongjmp out of handlers leaves announcements behind. They must not keep everything from being meshed for ever.
TEST_P(WriteBarrierTest, AnnouncementsOfFramesThatWereLeftGo) {
  heap.barrier.announce_always();
  ASSERT_TRUE(heap.barrier.needs_announcements());
  std::vector<uint64_t*> kept = sparse(256, 4000, 16);
  const void* address = kept[0];
  for (int i = 0; i < 200; i++) heap.barrier.announce(*own_heap(), &address, 1, here() - 4096 - static_cast<uintptr_t>(i) * 64);
  // The next call, further up on the stack.
  address = kept[1];
  heap.barrier.announce(*own_heap(), &address, 1, here());
  EXPECT_EQ(own_heap()->announced_count.load(), 1u);
  EXPECT_EQ(own_heap()->announced[0].load(), reinterpret_cast<uintptr_t>(kept[1]));
  uint64_t meshes = heap.mesher.figures().meshes.load();
  compact();
  EXPECT_GT(heap.mesher.figures().meshes.load(), meshes);
  WriteBarrier::retract(*own_heap(), 1);
  // Those of frames further up stay, however many there are.
  for (int i = 0; i < 30; i++) heap.barrier.announce(*own_heap(), &address, 1, here() + 4096 - static_cast<uintptr_t>(i) * 64);
  EXPECT_EQ(own_heap()->announced_count.load(), 30u);
  WriteBarrier::retract(*own_heap(), 30);
  free_all(kept);
}

// setjmp and getcontext return into the frame of their caller: what they have announced is followed by other calls, not by its end.
TEST_P(WriteBarrierTest, WhatIsAnnouncedLastinglyIsNotMeshed) {
  heap.barrier.announce_always();
  std::vector<uint64_t*> kept = sparse(256, 4000, 16);
  std::vector<uint64_t*> lasting(kept.begin(), kept.begin() + ThreadLocalHeap::kLasting);
  heap.barrier.announce_lastingly(*own_heap(), kept.back());
  for (uint64_t* one : lasting) heap.barrier.announce_lastingly(*own_heap(), one);
  compact();
  for (uint64_t* one : lasting) {
    PageWord word = heap.arena.word(one);
    EXPECT_EQ(heap.global[word.index()].leader.load(), word.index());
  }
  for (auto& one : own_heap()->lasting) one = 0;
  free_all(kept);
}

INSTANTIATE_TEST_SUITE_P(Kinds, WriteBarrierTest, ::testing::Values(BarrierKind::kUserfaultfd, BarrierKind::kUserMode, BarrierKind::kMprotect),
                         [](const auto& info) {
                           return info.param == BarrierKind::kUserfaultfd ? "userfaultfd" : info.param == BarrierKind::kUserMode ? "user" : "mprotect";
                         });

// Handlers of the program.
sig_atomic_t volatile faults;
void* volatile fault_address;
bool volatile on_alternate_stack, mask_as_asked;
char alternate_stack[64 * 1024];

void count_fault(int, siginfo_t* information, void*) {
  faults = faults + 1;
  fault_address = information->si_addr;
  char here;
  on_alternate_stack = &here >= alternate_stack && &here < alternate_stack + sizeof alternate_stack;
  sigset_t mask;
  pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  mask_as_asked = sigismember(&mask, SIGUSR1) && sigismember(&mask, SIGSEGV);
  mprotect(reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(information->si_addr) & -uintptr_t{4096}), 4096, PROT_READ | PROT_WRITE);
}

TEST(FaultHandlers, ForeignFaultsGoToTheHandlerThatWasThere) {
  struct sigaction action = {}, before;
  action.sa_sigaction = count_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaddset(&action.sa_mask, SIGUSR1);
  stack_t stack = {};
  stack.ss_sp = alternate_stack;
  stack.ss_size = sizeof alternate_stack;
  stack_t none = {};
  ASSERT_EQ(sigaltstack(&stack, &none), 0);
  ASSERT_EQ(sigaction(SIGSEGV, &action, &before), 0);
  knobs = {};
  knobs.barrier = BarrierKind::kMprotect;
  knobs.address_space = size_t{3} << 30;
  ASSERT_TRUE(open_heap());
  ASSERT_EQ(heap.barrier.kind(), BarrierKind::kMprotect);
  auto* page = static_cast<char*>(mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  faults = 0;
  page[10] = 1;
  EXPECT_EQ(faults, 1);
  EXPECT_EQ(fault_address, page + 10);
  EXPECT_TRUE(on_alternate_stack);
  EXPECT_TRUE(mask_as_asked);
  // A fault of the program's own making in the arena is its own, too.
  auto* object = static_cast<char*>(allocate(100));
  auto* start = reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(object) & -uintptr_t{4096});
  mprotect(start, 4096, PROT_READ);
  faults = 0;
  *object = 1;
  EXPECT_EQ(faults, 1);
  deallocate(object);
  munmap(page, 4096);
  close_heap();
  knobs = {};
  struct sigaction after;
  sigaction(SIGSEGV, &before, &after);
  EXPECT_EQ(after.sa_sigaction, count_fault) << "closing restores the handler";
  sigaltstack(&none, nullptr);
}

// Who installs a handler after us owns the signal: meshing by mprotect stops instead of sending faults there.
TEST(FaultHandlers, AHandlerThatComesLaterEndsMeshing) {
  struct sigaction action = {}, before;
  knobs = {};
  knobs.barrier = BarrierKind::kMprotect;
  knobs.address_space = size_t{3} << 30;
  ASSERT_TRUE(open_heap());
  action.sa_sigaction = count_fault;
  action.sa_flags = SA_SIGINFO;
  ASSERT_EQ(sigaction(SIGSEGV, &action, &before), 0);
  EXPECT_FALSE(heap.barrier.begin(heap.global.heaps(), heap.global.heap_count()));
  sigaction(SIGSEGV, &before, nullptr);
  EXPECT_TRUE(heap.barrier.begin(heap.global.heaps(), heap.global.heap_count()));
  heap.barrier.end();
  close_heap();
  knobs = {};
}

}  // namespace
}  // namespace freehold::mesh::testing
