#include "rebased.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <initializer_list>
#include <vector>

#include "os.h"

namespace freehold::bridge::test {
namespace {

using Bytes = std::vector<uint8_t>;

// What runs in the place of the instruction; empty: the instruction itself.
Bytes rebased(Bytes code, int8_t address_register, int expected) {
  uint8_t copy[kLongestInstruction], padded[kLongestInstruction];
  memset(padded, 0x90, sizeof padded);
  memcpy(padded, code.data(), code.size());
  EXPECT_EQ(rebase(padded, address_register, copy), expected);
  if (expected == kNotRebased) return {};
  return Bytes(copy, copy + code.size());
}

TEST(Rebased, ARegisterThatIsDataTooIsReplacedWhereItIsAnAddress) {
  EXPECT_EQ(rebased({0x48, 0x39, 0x00}, 0, 6), (Bytes{0x48, 0x39, 0x06}));                                      // cmp %rax,(%rax)
  EXPECT_EQ(rebased({0x48, 0x89, 0x3f}, 7, 6), (Bytes{0x48, 0x89, 0x3e}));                                      // mov %rdi,(%rdi)
  EXPECT_EQ(rebased({0x48, 0x89, 0x76, 0x08}, 6, 7), (Bytes{0x48, 0x89, 0x77, 0x08}));                          // mov %rsi,8(%rsi)
  EXPECT_EQ(rebased({0x4d, 0x87, 0x24, 0x24}, 12, 6), (Bytes{0x4c, 0x87, 0x24, 0x26}));                         // xchg %r12,(%r12)
  EXPECT_EQ(rebased({0x4d, 0x89, 0x6d, 0x00}, 13, 6), (Bytes{0x4c, 0x89, 0x6e, 0x00}));                         // mov %r13,0(%r13)
  EXPECT_EQ(rebased({0x48, 0x89, 0x34, 0x31}, 6, 7), (Bytes{0x48, 0x89, 0x34, 0x39}));                          // mov %rsi,(%rcx,%rsi)
  EXPECT_EQ(rebased({0x4a, 0x89, 0x1c, 0x23}, 3, 6), (Bytes{0x4a, 0x89, 0x1c, 0x26}));                          // mov %rbx,(%rbx,%r12)
  EXPECT_EQ(rebased({0xf0, 0x48, 0x0f, 0xb1, 0x48, 0x08}, 0, 6), (Bytes{0xf0, 0x48, 0x0f, 0xb1, 0x4e, 0x08}));  // lock cmpxchg %rcx,8(%rax)
  EXPECT_EQ(rebased({0x66, 0x89, 0x00}, 0, 6), (Bytes{0x66, 0x89, 0x06}));                                      // mov %ax,(%rax)
}

TEST(Rebased, OthersRunAsTheyAre) {
  rebased({0x48, 0x39, 0x08}, 0, kNotRebased);              // cmp %rcx,(%rax)
  rebased({0x48, 0x89, 0x45, 0x00}, 5, kNotRebased);        // mov %rax,0(%rbp)
  rebased({0xff, 0x12}, 2, kNotRebased);                    // call *(%rdx)
  rebased({0xff, 0x24, 0x24}, 4, kNotRebased);              // jmp *(%rsp)
  rebased({0xf3, 0x48, 0xa5}, 7, kNotRebased);              // rep movsq
  rebased({0xc5, 0xfc, 0x10, 0x00}, 0, kNotRebased);        // vmovups (%rax),%ymm0
  rebased({0x48, 0x89, 0xc0}, 0, kNotRebased);              // mov %rax,%rax
  rebased({0x48, 0x8b, 0x44, 0x85, 0x00}, 5, kNotRebased);  // mov 0(%rbp,%rax,4),%rax
}

TEST(Rebased, TheLastInstructionBeforeAPageThatIsNotThere) {
  void* made = mmap(nullptr, 2 * os::kPageSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(made, MAP_FAILED);
  auto* pages = static_cast<uint8_t*>(made);
  ASSERT_EQ(mprotect(pages + os::kPageSize, os::kPageSize, PROT_NONE), 0);
  const uint8_t code[] = {0x48, 0x89, 0x00};  // mov %rax,(%rax)
  uint8_t* last = pages + os::kPageSize - sizeof code;
  memcpy(last, code, sizeof code);
  uint8_t copy[kLongestInstruction];
  EXPECT_EQ(rebase(last, 0, copy), 6);
  EXPECT_EQ(copy[2], 0x06);
  munmap(pages, 2 * os::kPageSize);
}

}  // namespace
}  // namespace freehold::bridge::test
