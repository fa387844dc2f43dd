#include "pattern.h"

#include <cstring>

namespace freehold::jit {

namespace {

bool is_behind(std::span<const std::uint8_t> code, std::size_t at, const Patch& patch) noexcept {
  if (patch.behind.empty()) {
    return true;
  }
  const std::size_t start = at + patch.behind_offset;
  return start <= code.size() && code.size() - start >= patch.behind.size() && std::memcmp(code.data() + start, patch.behind.data(), patch.behind.size()) == 0;
}

}  // namespace

PatternMatch find_pattern(std::span<const std::uint8_t> code, const Patch& patch) noexcept {
  PatternMatch match;
  if (code.size() < patch.bytes.size()) {
    return match;
  }
  const std::size_t last = code.size() - patch.bytes.size();
  for (std::size_t at = 0; at <= last; ++at) {
    const void* hit = std::memchr(code.data() + at, patch.bytes[0], last - at + 1);
    if (hit == nullptr) {
      break;
    }
    at = static_cast<std::size_t>(static_cast<const std::uint8_t*>(hit) - code.data());
    if (std::memcmp(hit, patch.bytes.data(), patch.bytes.size()) != 0 || !is_behind(code, at, patch)) {
      continue;
    }
    if (match.count++ == 0) {
      match.offset = at;
    }
  }
  return match;
}

}  // namespace freehold::jit
