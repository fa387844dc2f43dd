// The places in RyuJIT that Freehold changes, and the search for them. What they are, by version, is in runtime-patches/<version>/jit.h.
// Invariant: a JIT in which any of a version's places occurs any number of times but once is never patched.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace freehold::jit {

// One change: two bytes at `offset` into `bytes`.
struct Patch {
  const char* name;
  std::span<const std::uint8_t> bytes;
  std::size_t offset;
  std::array<std::uint8_t, 2> replacement;
  // What must follow further on, if anything: where the jump leads that is changed, say.
  std::size_t behind_offset = 0;
  std::span<const std::uint8_t> behind = {};
};

// The JIT of one ILCompiler version.
struct KnownJit {
  const char* version;
  std::span<const Patch> patches;
};

// All that are supported, the newest first.
std::span<const KnownJit> known_jits() noexcept;

struct PatternMatch {
  std::size_t count = 0;   // occurrences, overlapping ones included
  std::size_t offset = 0;  // of the first occurrence, when count > 0
};

PatternMatch find_pattern(std::span<const std::uint8_t> code, const Patch& patch) noexcept;

}  // namespace freehold::jit
