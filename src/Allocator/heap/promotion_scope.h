// Which blocks a round of promotion may take.
#pragma once

#include <cstdint>

namespace freehold::heap {

enum class PromotionScope : uint8_t {
  kFragmented,  // as should_promote() has it: until f is below 3/16
  kSparse,      // every block of which 5/16 or more are dead
  kYoung,       // the young ones of these, in a short round: for tests
  kAll,         // every block that is complete: for tests
  kRandom,      // half of these, as the seed of FREEHOLD_STRESS has it
};

}  // namespace freehold::heap
