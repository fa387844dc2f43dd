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

TEST(Rebased, RepeatedStringInstructionsHaveABreakpointBehindThem) {
  auto repeated = [](Bytes code) {
    uint8_t copy[kLongestInstruction + 1];
    code.resize(kLongestInstruction, 0x90);
    return copy_repeated(code.data(), copy) ? Bytes(copy, copy + 4) : Bytes{};
  };
  EXPECT_EQ(repeated({0xf3, 0xa4, 0x90}), (Bytes{0xf3, 0xa4, 0xcc, repeated({0xf3, 0xa4})[3]}));  // rep movsb
  EXPECT_EQ(repeated({0xf3, 0x48, 0xab}), (Bytes{0xf3, 0x48, 0xab, 0xcc}));                       // rep stosq
  EXPECT_EQ(repeated({0xf2, 0x66, 0xaf}), (Bytes{0xf2, 0x66, 0xaf, 0xcc}));                       // repne scasw
  EXPECT_TRUE(repeated({0xa4}).empty());                                                          // movsb
  EXPECT_TRUE(repeated({0xf3, 0x0f, 0x6f, 0x00}).empty());                                        // movdqu
  EXPECT_TRUE(repeated({0xf3, 0xa8, 0x00}).empty());
}

TEST(Rebased, GathersAndScattersHaveABase) {
  constexpr int8_t kNone = freehold::os::Operand::kNone;
  auto base = [](Bytes code) {
    code.resize(kLongestInstruction, 0x90);
    return base_of_gather(code.data());
  };
  EXPECT_EQ(base({0xc4, 0xe2, 0x75, 0x90, 0x04, 0x90}), 0);                  // vpgatherdd %ymm1,(%rax,%ymm2,4),%ymm0
  EXPECT_EQ(base({0xc4, 0xc2, 0xf5, 0x93, 0x44, 0xd4, 0x08}), 12);           // vgatherqpd %ymm1,8(%r12,%ymm2,8),%ymm0
  EXPECT_EQ(base({0x62, 0xd2, 0x7d, 0x49, 0xa0, 0x0c, 0x81}), 9);            // vpscatterdd %zmm1,(%r9,%zmm0,4){%k1}
  EXPECT_EQ(base({0xc4, 0xe2, 0x75, 0x90, 0x04, 0x95, 0, 0, 0, 0}), kNone);  // no base
  EXPECT_EQ(base({0xc4, 0xe2, 0x79, 0x58, 0x00}), kNone);                    // vpbroadcastd (%rax),%xmm0
  EXPECT_EQ(base({0x48, 0x8b, 0x00}), kNone);                                // mov (%rax),%rax
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

Bytes without_alignment(Bytes code) {
  uint8_t copy[kLongestInstruction], padded[kLongestInstruction];
  memset(padded, 0x90, sizeof padded);
  memcpy(padded, code.data(), code.size());
  if (!copy_without_alignment(padded, copy)) return {};
  return Bytes(copy, copy + code.size());
}

TEST(WithoutAlignment, WideMovesThatWantIt) {
  EXPECT_EQ(without_alignment({0xc5, 0xfc, 0x28, 0x08}), (Bytes{0xc5, 0xfc, 0x10, 0x08}));                                      // vmovaps (%rax),%ymm1
  EXPECT_EQ(without_alignment({0xc4, 0x41, 0x7d, 0x29, 0x08}), (Bytes{0xc4, 0x41, 0x7d, 0x11, 0x08}));                          // vmovapd %ymm9,(%r8)
  EXPECT_EQ(without_alignment({0xc5, 0xfd, 0x6f, 0x47, 0x08}), (Bytes{0xc5, 0xfe, 0x6f, 0x47, 0x08}));                          // vmovdqa 8(%rdi),%ymm0
  EXPECT_EQ(without_alignment({0xc5, 0xf9, 0x7f, 0x07}), (Bytes{0xc5, 0xfa, 0x7f, 0x07}));                                      // vmovdqa %xmm0,(%rdi)
  EXPECT_EQ(without_alignment({0xc4, 0xa1, 0x7d, 0xe7, 0x14, 0x0e}), (Bytes{0xc4, 0xa1, 0x7e, 0x7f, 0x14, 0x0e}));              // vmovntdq %ymm2,(%rsi,%r9)
  EXPECT_EQ(without_alignment({0xc5, 0xfc, 0x2b, 0x16}), (Bytes{0xc5, 0xfc, 0x11, 0x16}));                                      // vmovntps %ymm2,(%rsi)
  EXPECT_EQ(without_alignment({0xc4, 0xe2, 0x7d, 0x2a, 0x19}), (Bytes{0xc4, 0xe1, 0x7e, 0x6f, 0x19}));                          // vmovntdqa (%rcx),%ymm3
  EXPECT_EQ(without_alignment({0x62, 0xe1, 0xfd, 0x28, 0x6f, 0x4f, 0x04}), (Bytes{0x62, 0xe1, 0xfe, 0x28, 0x6f, 0x4f, 0x04}));  // vmovdqa64 128(%rdi),%ymm17
  EXPECT_EQ(without_alignment({0x62, 0xc1, 0x7d, 0x49, 0x7f, 0x0f}), (Bytes{0x62, 0xc1, 0x7e, 0x49, 0x7f, 0x0f}));              // vmovdqa32 %zmm17,(%r15){%k1}
  EXPECT_EQ(without_alignment({0x62, 0x61, 0x7c, 0x48, 0x28, 0x3f}), (Bytes{0x62, 0x61, 0x7c, 0x48, 0x10, 0x3f}));              // vmovaps (%rdi),%zmm31
  EXPECT_EQ(without_alignment({0x62, 0xa1, 0xfd, 0x48, 0x29, 0x24, 0xe7}), (Bytes{0x62, 0xa1, 0xfd, 0x48, 0x11, 0x24, 0xe7}));  // vmovapd %zmm20,(%rdi,%r12,8)
  EXPECT_EQ(without_alignment({0x62, 0xe2, 0x7d, 0x48, 0x2a, 0x2f}), (Bytes{0x62, 0xe1, 0x7e, 0x48, 0x6f, 0x2f}));              // vmovntdqa (%rdi),%zmm21
  EXPECT_EQ(without_alignment({0x62, 0xe1, 0x7d, 0x48, 0xe7, 0x2f}), (Bytes{0x62, 0xe1, 0x7e, 0x48, 0x7f, 0x2f}));              // vmovntdq %zmm21,(%rdi)
  EXPECT_EQ(without_alignment({0x62, 0xf1, 0xfd, 0x48, 0x2b, 0x0f}), (Bytes{0x62, 0xf1, 0xfd, 0x48, 0x11, 0x0f}));              // vmovntpd %zmm1,(%rdi)
}

TEST(WithoutAlignment, OthersDoNotNeedIt) {
  EXPECT_TRUE(without_alignment({0xc5, 0xfe, 0x6f, 0x08}).empty());                    // vmovdqu (%rax),%ymm1
  EXPECT_TRUE(without_alignment({0xc5, 0xfc, 0x10, 0x08}).empty());                    // vmovups (%rax),%ymm1
  EXPECT_TRUE(without_alignment({0x62, 0xe1, 0xfe, 0x28, 0x6f, 0x08}).empty());        // vmovdqu64 (%rax),%ymm17
  EXPECT_TRUE(without_alignment({0x62, 0xe1, 0x7f, 0x28, 0x6f, 0x08}).empty());        // vmovdqu8 (%rax),%ymm17
  EXPECT_TRUE(without_alignment({0xc5, 0xfd, 0xfc, 0x08}).empty());                    // vpaddb (%rax),%ymm0,%ymm1
  EXPECT_TRUE(without_alignment({0x62, 0xf3, 0x75, 0x48, 0x25, 0x10, 0x01}).empty());  // vpternlogd $1,(%rax),%zmm1,%zmm2
  EXPECT_TRUE(without_alignment({0x0f, 0x28, 0x00}).empty());                          // movaps (%rax),%xmm0: an object is as aligned
  EXPECT_TRUE(without_alignment({0x48, 0x8b, 0x07}).empty());                          // mov (%rdi),%rax
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
