#include "pattern.h"

#include <cstring>

namespace freehold::jit {

PatternMatch find_pattern(std::span<const std::uint8_t> code) noexcept {
    PatternMatch match;
    if (code.size() < kPattern.size()) {
        return match;
    }
    const std::size_t last = code.size() - kPattern.size();
    for (std::size_t at = 0; at <= last; ++at) {
        const void* hit = std::memchr(code.data() + at, kPattern[0], last - at + 1);
        if (hit == nullptr) {
            break;
        }
        at = static_cast<std::size_t>(static_cast<const std::uint8_t*>(hit) - code.data());
        if (std::memcmp(hit, kPattern.data(), kPattern.size()) != 0) {
            continue;
        }
        if (match.count++ == 0) {
            match.offset = at;
        }
    }
    return match;
}

}  // namespace freehold::jit
