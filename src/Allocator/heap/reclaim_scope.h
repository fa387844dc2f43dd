// What a reclaim looks through (heap/reachability.h).
#pragma once

#include <cstdint>

namespace freehold::heap {

enum class ReclaimScope : uint8_t {
  kAll,
  kYoung,  // blocks that began since the last one (heap/young_blocks.h): what was there then counts as alive
};

}  // namespace freehold::heap
