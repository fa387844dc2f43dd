// What uncompiled code does with a handle: the handler of the fault gives the instruction an address.
#include "faults.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/time.h>

#include <atomic>

#include "compiled.h"

extern "C" int __freehold_sigaction(int signal, const struct sigaction* action, struct sigaction* before);

namespace freehold::bridge::test {
namespace {

// Not compiled with handles: the compiler of this file knows none.
__attribute__((noinline)) int sum(const volatile int* numbers, int count) {
  int total = 0;
  for (int i = 0; i < count; i++) total += numbers[i];
  return total;
}

TEST(Faults, AHandleInUncompiledCodeIsAsGoodAsAnAddress) {
  Compiled compiled;
  void* made = __freehold_malloc(100 * sizeof(int));
  for (int i = 0; i < 100; i++) at<int>(made)[i] = i;
  uint64_t before = faults::repaired();
  EXPECT_EQ(sum(static_cast<int*>(made), 100), 4950);
  EXPECT_GT(faults::repaired(), before);
  // String instructions: both ends, many steps.
  void* other = __freehold_malloc(400);
  void* from = made;
  void* to = other;
  size_t count = 400;
  uint64_t steps = faults::repaired();
  asm volatile("rep movsb" : "+S"(from), "+D"(to), "+c"(count) : : "memory");
  EXPECT_EQ(faults::repaired(), steps + 1) << "not one for each byte";
  EXPECT_EQ(count, 0u);
  EXPECT_EQ(from, static_cast<char*>(made) + 400);
  EXPECT_EQ(to, static_cast<char*>(other) + 400);
  EXPECT_EQ(at<int>(other)[99], 99);
  // A loaded value takes the handle's register.
  *at<void*>(other) = made;
  void* value = other;
  uint64_t emulated = faults::emulated();
  asm volatile("mov (%0), %0" : "+r"(value) : : "memory");
  EXPECT_EQ(value, made);
  EXPECT_EQ(faults::emulated(), emulated + 1) << "a move needs no step";
  // Beside the object, in memory that is there: the handler leaves it to the processor.
  asm volatile("mov 448(%1), %0" : "=r"(value) : "r"(other) : "memory");
  EXPECT_EQ(faults::emulated(), emulated + 1);
  uint8_t* address = at(made);
  move_everything();
  EXPECT_NE(at(made), address) << "nothing stays pinned";
  __freehold_free(made);
  __freehold_free(other);
}

// Programs adjust pointers by how far a block has moved. Then a register has the handle of another object, which may be free.
TEST(Faults, TheWholeOperandSaysWhichObjectIsMeant) {
  Compiled compiled;
  auto read_at = [](uint64_t base, uint64_t index) {
    uint64_t value;
    asm volatile("mov 8(%1, %2), %0; addq $1, 8(%1, %2)" : "=&r"(value), "+r"(base), "+r"(index) : : "memory");
    return value;
  };
  auto sum_at = [](uint64_t base, uint64_t index) {
    uint64_t value = 0;
    asm volatile("add 8(%1, %2), %0" : "+r"(value) : "r"(base), "r"(index) : "memory");
    return value;
  };
  void* old = __freehold_malloc(100);
  void* made = __freehold_malloc(100);
  auto from = reinterpret_cast<uint64_t>(old), to = reinterpret_cast<uint64_t>(made);
  at<uint64_t>(old)[1] = 1;
  at<uint64_t>(made)[1] = 70;
  EXPECT_EQ(read_at(from, to - from), 70u);
  EXPECT_EQ(read_at(to - from, from), 71u);
  EXPECT_EQ(sum_at(from, to - from), 72u);
  __freehold_free(old);
  EXPECT_EQ(read_at(from, to - from), 72u);
  EXPECT_EQ(sum_at(to - from, from), 73u);
  EXPECT_EQ(at<uint64_t>(made)[1], 73u);
  __freehold_free(made);
  EXPECT_DEATH(sum_at(from, to - from), "use after free: handle [0-9a-f]+");
}

TEST(Faults, AGatherMayHaveAHandle) {
  if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "the processor has no gathers";
  Compiled compiled;
  void* made = __freehold_malloc(100 * sizeof(int));
  for (int i = 0; i < 100; i++) at<int>(made)[i] = i;
  alignas(32) int where[8] = {0, 99, 5, 7, 50, 3, 98, 1}, found[8] = {};
  asm volatile("vmovdqa (%1), %%ymm2; vpcmpeqd %%ymm1, %%ymm1, %%ymm1; vpgatherdd %%ymm1, (%0, %%ymm2, 4), %%ymm0; vmovdqa %%ymm0, (%2); vzeroupper"
               :
               : "r"(made), "r"(where), "r"(found)
               : "xmm0", "xmm1", "xmm2", "memory");
  for (int i = 0; i < 8; i++) EXPECT_EQ(found[i], where[i]);
  __freehold_free(made);
}

// Uncompiled code reads through a handle all the time; a handler that interrupts it does so too.
std::atomic<void*> read_by_handler{nullptr};
std::atomic<uint64_t> wrong_reads{0}, handler_reads{0};
TEST(Faults, AHandlerMayFaultWhereverItComes) {
  Compiled compiled;
  void* made = __freehold_malloc(16 * sizeof(int));
  for (int i = 0; i < 16; i++) at<int>(made)[i] = i;
  read_by_handler = made;
  struct sigaction action{};
  action.sa_handler = [](int) {
    if (sum(static_cast<int*>(read_by_handler.load()), 16) != 120) wrong_reads++;
    handler_reads++;
  };
  ASSERT_EQ(__freehold_sigaction(SIGPROF, &action, nullptr), 0);
  itimerval often{{0, 300}, {0, 300}}, never{};
  setitimer(ITIMER_PROF, &often, nullptr);
  // Processor time passes, so the handler runs.
  while (handler_reads < 20) {
    if (sum(static_cast<int*>(made), 16) != 120) wrong_reads++;
  }
  setitimer(ITIMER_PROF, &never, nullptr);
  signal(SIGPROF, SIG_DFL);
  EXPECT_EQ(wrong_reads, 0u);
  __freehold_free(made);
}

TEST(FaultsDeathTest, AUseAfterFreeIsReported) {
  Compiled compiled;
  void* made = __freehold_malloc(100);
  __freehold_free(made);
  EXPECT_DEATH(sum(static_cast<int*>(made), 1), "use after free: handle [0-9a-f]+");
}

TEST(FaultsDeathTest, OtherFaultsAreNotTakenOver) { EXPECT_EXIT(sum(reinterpret_cast<int*>(64), 1), testing::KilledBySignal(SIGSEGV), ""); }

}  // namespace
}  // namespace freehold::bridge::test
