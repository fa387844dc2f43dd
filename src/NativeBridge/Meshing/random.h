// A fast generator (wyrand's shape) for the order of allocation. Not for secrets. One thread at a time.
#pragma once

#include <cstdint>

namespace freehold::mesh {

class Random {
 public:
  constexpr explicit Random(uint64_t seed = 1) noexcept : state_(seed) {}
  uint64_t next() noexcept {
    state_ += 0xa0761d6478bd642f;
    auto product = static_cast<unsigned __int128>(state_) * (state_ ^ 0xe7037ed1a0b428db);
    return static_cast<uint64_t>(product >> 64) ^ static_cast<uint64_t>(product);
  }
  // Below `bound`, which is at most 2^32.
  uint32_t below(uint64_t bound) noexcept { return static_cast<uint32_t>((next() >> 32) * bound >> 32); }

 private:
  uint64_t state_;
};

}  // namespace freehold::mesh
