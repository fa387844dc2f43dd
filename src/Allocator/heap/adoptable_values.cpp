#include "heap/adoptable_values.h"

#include <string.h>

namespace freehold::heap {

void AdoptableValues::begin(uint64_t look) noexcept {
  memset(offered_of(), 0, kCounts);
  rows_ = 0;
  random_ = (look + 1) * 0xa0761d6478bd642f;
}

// Vitter, Random Sampling with a Reservoir, TOMS 1985: algorithm R. Its numbers: Marsaglia, Xorshift RNGs, Journal of Statistical Software 8, 2003.
void AdoptableValues::offer(size_t row, const AdoptableValue& value) noexcept {
  uint64_t before = offered_of()[row]++;
  rows_ += before == 0 ? 1 : 0;
  if (before < kOfRow) {
    values()[row * kOfRow + before] = value;
    return;
  }
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  if (uint64_t index = (random_ >> 8) % (before + 1); index < kOfRow) values()[row * kOfRow + index] = value;
}

}  // namespace freehold::heap
