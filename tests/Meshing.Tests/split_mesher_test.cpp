// SplitMesher on sets of live slots, without memory; and what the theory says of how many pairs there are.
#include <cmath>
#include <set>

#include "mesh_fixture.h"

namespace freehold::mesh::testing {
namespace {

std::vector<Bits> random_spans(uint32_t count, uint32_t slots, double occupancy, Random& random) {
  std::vector<Bits> spans(count);
  for (Bits& bits : spans) {
    bits = {};
    for (uint32_t slot = 0; slot < slots; slot++) {
      if (random.below(1 << 20) < occupancy * (1 << 20)) bits.words[slot / 64] |= uint64_t{1} << slot % 64;
    }
  }
  return spans;
}

TEST(SplitMesher, PairsDoNotOverlapAndNoSpanIsInTwo) {
  Random random(3);
  for (double occupancy : {0.0, 0.1, 0.3, 0.6, 1.0}) {
    std::vector<Bits> spans = random_spans(501, 32, occupancy, random);
    std::vector<uint32_t[2]> pairs(spans.size());
    uint32_t found = SplitMesher::split(spans.data(), static_cast<uint32_t>(spans.size()), pairs.data(), random);
    std::set<uint32_t> seen;
    for (uint32_t i = 0; i < found; i++) {
      EXPECT_FALSE(spans[pairs[i][0]].intersects(spans[pairs[i][1]]));
      EXPECT_TRUE(seen.insert(pairs[i][0]).second);
      EXPECT_TRUE(seen.insert(pairs[i][1]).second);
    }
    if (occupancy == 0.0) {
      EXPECT_EQ(found, 250u);
    }
    if (occupancy == 1.0) {
      EXPECT_EQ(found, 0u);
    }
  }
}

// The paper's bound: with probability of two spans to mesh q, the pairs found are at least n/4 (1 - e^(-2k)) where t = k/q.
TEST(SplitMesher, FindsAsManyPairsAsTheTheoryPromises) {
  Random random(4);
  for (double occupancy : {0.1, 0.2, 0.3}) {
    constexpr uint32_t kSlots = 16, kCount = 2000;
    std::vector<Bits> spans = random_spans(kCount, kSlots, occupancy, random);
    std::vector<uint32_t[2]> pairs(kCount);
    uint32_t found = SplitMesher::split(spans.data(), kCount, pairs.data(), random);
    double q = std::pow(1 - occupancy * occupancy, kSlots), k = SplitMesher::kProbes * q;
    EXPECT_GE(found, kCount / 4.0 * (1 - std::exp(-2 * k))) << "occupancy " << occupancy;
  }
}

TEST(SplitMesher, FewSpansAreNoError) {
  Random random(1);
  Bits one = {};
  uint32_t pairs[2][2];
  EXPECT_EQ(SplitMesher::split(&one, 0, pairs, random), 0u);
  EXPECT_EQ(SplitMesher::split(&one, 1, pairs, random), 0u);
}

}  // namespace
}  // namespace freehold::mesh::testing
