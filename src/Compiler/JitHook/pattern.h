// The one place in RyuJIT that Freehold changes, and the search for it.
//
// RyuJIT keeps a flag "this method is fully interruptible" and sets it by itself only for debug code, for loops
// without calls and for some exception handling. The instructions searched for are
//
//     offset  bytes                      meaning
//          0  80 bf 21 09 00 00 00       cmp  byte [compiler.compDbgCode], 0
//          7  74 0e                      je   past the assignment                <- becomes 90 90
//          9  48 8b 83 b0 05 00 00       mov  rax, [compiler.codeGen]
//         16  c6 80 38 04 00 00 01       mov  byte [rax + m_cgInterruptible], 1
//         23  80 bb                      cmp  byte [...]                         (the next test)
//
// Without the jump every method takes the assignment. The field offsets inside the pattern tie it to the JIT it was
// read from: another layout does not match, and then nothing may be compiled. Invariant: a JIT in which the pattern
// occurs any number of times but once is never patched.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace freehold::jit {

inline constexpr std::array<std::uint8_t, 25> kPattern = {
    0x80, 0xbf, 0x21, 0x09, 0x00, 0x00, 0x00,              // cmp
    0x74, 0x0e,                                            // je
    0x48, 0x8b, 0x83, 0xb0, 0x05, 0x00, 0x00,              // mov rax
    0xc6, 0x80, 0x38, 0x04, 0x00, 0x00, 0x01, 0x80, 0xbb,  // mov byte, cmp
};
inline constexpr std::size_t kJumpOffset = 7;
inline constexpr std::array<std::uint8_t, 2> kJump = {0x74, 0x0e};
inline constexpr std::array<std::uint8_t, 2> kNops = {0x90, 0x90};

static_assert(kPattern[kJumpOffset] == kJump[0] && kPattern[kJumpOffset + 1] == kJump[1]);
static_assert(kJumpOffset + kJump.size() <= kPattern.size());

struct PatternMatch {
    std::size_t count = 0;   // occurrences, overlapping ones included
    std::size_t offset = 0;  // of the first occurrence, when count > 0
};

PatternMatch find_pattern(std::span<const std::uint8_t> code) noexcept;

}  // namespace freehold::jit
